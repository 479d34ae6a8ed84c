import { runInFirefox } from "./in-firefox.ts";

await runInFirefox(() => import("../personalizer-pages.test.ts"));
