import { runInFirefox } from "./in-firefox.ts";

await runInFirefox(() => import("../personalizer-orders.test.ts"));
