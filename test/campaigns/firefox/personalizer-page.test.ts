import { runInFirefox } from "./in-firefox.ts";

await runInFirefox(() => import("../../packages/personalizer-page.test.ts"));
