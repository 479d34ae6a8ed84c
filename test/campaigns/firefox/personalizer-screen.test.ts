import { runInFirefox } from "./in-firefox.ts";

await runInFirefox(() => import("../../packages/personalizer-screen.test.ts"), { isShort: true });
