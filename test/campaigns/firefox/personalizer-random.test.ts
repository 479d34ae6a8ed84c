import { runInFirefox } from "./in-firefox.ts";

await runInFirefox(() => import("../../packages/personalizer-random.test.ts"));
