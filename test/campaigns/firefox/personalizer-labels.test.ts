import { runInFirefox } from "./in-firefox.ts";

await runInFirefox(() => import("../personalizer-labels.test.ts"));
