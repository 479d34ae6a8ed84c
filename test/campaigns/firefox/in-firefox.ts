import { test } from "bun:test";
import { useFirefox } from "../../support/browser.ts";
import { firefox } from "../../support/firefox.ts";
import { isCampaign } from "../../support/pds.ts";

/**
 * Runs the tests of another file in Firefox, if it is installed.
 * @param isShort whether short campaigns have time for them
 */
export async function runInFirefox(importTests: () => Promise<unknown>, { isShort = false } = {}): Promise<void> {
  if (firefox === undefined || !(isShort || isCampaign)) {
    test.skip(firefox === undefined ? "Firefox is not installed" : "only in the full campaign", () => {});
    return;
  }
  useFirefox();
  await importTests();
}
