import { sha256 } from "../../src/base/hash.ts";

/** A program that speaks to the admin listener as a browser does, with one cookie. */
export class Operator {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  cookie: string | undefined;
  /** What the forms of its session send. */
  formToken = "";

  /** @param headers of every request */
  constructor(url: string, headers: Readonly<Record<string, string>> = {}) {
    this.#url = url;
    this.#headers = headers;
  }

  async get(path: string): Promise<{ readonly status: number; readonly html: string }> {
    const response = await this.#fetch(path, { headers: { accept: "text/html" } });
    return { status: response.status, html: await response.text() };
  }

  /** Sends a form. @param headers override those of every request */
  async post(
    path: string,
    fields: Readonly<Record<string, string>> = {},
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    const given = { ...(this.formToken !== "" && { form_token: this.formToken }), ...fields };
    return await this.#fetch(path, { method: "POST", body: new URLSearchParams(given), headers });
  }

  /** @returns the status of the response */
  async signIn(token: string, headers: Readonly<Record<string, string>> = {}): Promise<number> {
    const response = await this.post("/sign-in", { token, next: "/audit" }, { origin: this.#url, ...headers });
    const cookie = response.headers.get("set-cookie");
    if (cookie === null) return response.status;
    this.cookie = cookie.slice(0, cookie.indexOf(";"));
    this.formToken = (await this.get("/audit")).html.match(/name="form_token" value="(\w+)"/)?.[1] ?? "";
    return response.status;
  }

  #fetch(path: string, init: RequestInit & { readonly headers: Readonly<Record<string, string>> }): Promise<Response> {
    const headers = {
      ...this.#headers,
      ...(this.cookie !== undefined && { cookie: this.cookie }),
      ...init.headers,
    };
    return fetch(this.#url + path, { ...init, headers, redirect: "manual" });
  }
}

/** Lines for `pds.toml`. */
export const tokenLines = (name: string, role: "view" | "operate", token: string) =>
  `[admin.tokens.${name}]\nsha256 = "${sha256(token)}"\nrole = "${role}"\n`;
