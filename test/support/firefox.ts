import { type Browser, firefox as playwrightFirefox } from "playwright-core";
import { temporaryFolder } from "./pds.ts";

/** The command of Firefox, which the tests do not install; undefined where there is none. */
export const firefox = ["firefox-esr", "firefox"].find((name) => Bun.which(name) !== null);

/** Only this machine, and nothing that a new profile shows or loads by itself. */
const preferences = {
  // Firefox 153 crashes when a script outside of the page, such as Playwright's, reads
  // `ariaLabelledByElements` again. A page that reads it does not crash it.
  "accessibility.ARIAElementReflection.enabled": false,
  "network.proxy.type": 1,
  "network.proxy.http": "127.0.0.1",
  "network.proxy.http_port": 9,
  "network.proxy.ssl": "127.0.0.1",
  "network.proxy.ssl_port": 9,
  "browser.shell.checkDefaultBrowser": false,
  "browser.startup.page": 0,
  "datareporting.policy.dataSubmissionEnabled": false,
};

/** Launches a real Firefox that can only reach this machine. */
export async function launchFirefox(): Promise<Browser> {
  if (firefox === undefined) throw new Error("Firefox is not installed");
  const profile = await temporaryFolder();
  const lines = Object.entries(preferences).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});`);
  await Bun.write(`${profile}/user.js`, lines.join("\n"));
  const relay = Bun.fileURLToPath(new URL("firefox-relay.ts", import.meta.url));
  return await playwrightFirefox.launch({
    channel: "moz-firefox",
    executablePath: process.execPath,
    ignoreDefaultArgs: true,
    args: [relay, firefox, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port=0"],
    env: { ...process.env, HOME: profile },
  });
}
