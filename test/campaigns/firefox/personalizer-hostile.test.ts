import { runInFirefox } from "./in-firefox.ts";

await runInFirefox(() => import("../personalizer-hostile.test.ts"), { isShort: true });
