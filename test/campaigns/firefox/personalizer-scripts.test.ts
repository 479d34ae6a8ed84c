import { runInFirefox } from "./in-firefox.ts";

await runInFirefox(() => import("../personalizer-scripts.test.ts"), { isShort: true });
