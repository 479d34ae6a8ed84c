import { runInFirefox } from "./in-firefox.ts";

await runInFirefox(() => import("../personalizer-losses.test.ts"), { isShort: true });
