import { runInFirefox } from "./in-firefox.ts";

await runInFirefox(() => import("../../packages/personalizer-losses.test.ts"), { isShort: true });
