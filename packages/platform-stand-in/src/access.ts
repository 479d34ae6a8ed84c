import type { AppOptions } from "./options.ts";
import { Bucket, type BucketSettings } from "./throttle.ts";

export interface App {
  readonly name: string;
  readonly options: AppOptions;
  readonly bucket: Bucket;
  scopes: ReadonlySet<string>;
}

export interface AccessOptions {
  readonly apps: readonly AppOptions[];
  readonly scopes: readonly string[];
  readonly bucket: BucketSettings;
  /** Seconds. */
  readonly expiresIn: number;
  readonly now: () => number;
}

/** The apps of the shop with their access tokens and scopes. */
export class Access {
  readonly apps: readonly App[];
  readonly #options: AccessOptions;
  readonly #granted = new Map<string, { readonly app: App; readonly expiresAt: number }>();
  readonly #revoked = new Set<string>();

  constructor(options: AccessOptions) {
    this.#options = options;
    this.apps = options.apps.map((app) => ({
      name: app.name,
      options: app,
      bucket: new Bucket(options.bucket, options.now),
      scopes: new Set(app.scopes ?? options.scopes),
    }));
  }

  findApp(token: string | null): App | undefined {
    if (token === null || this.#revoked.has(token)) return undefined;
    const granted = this.#granted.get(token);
    if (granted !== undefined) return granted.expiresAt > this.#options.now() ? granted.app : undefined;
    return this.apps.find(({ options }) => options.token === token);
  }

  findClient(clientId: string): App | undefined {
    return this.apps.find(({ options }) => options.clientId === clientId);
  }

  /** The body of the response. */
  grant(app: App) {
    const { expiresIn, now } = this.#options;
    const token = `shpat_granted-${this.#granted.size + 1}-${crypto.randomUUID()}`;
    this.#granted.set(token, { app, expiresAt: now() + expiresIn * 1000 });
    return { access_token: token, scope: [...app.scopes].join(","), expires_in: expiresIn };
  }

  /**
   * Revokes one token, or all of them. Only `restoreTokens` makes a permanent token valid again.
   */
  revoke(token?: string): void {
    const permanent = this.apps.flatMap(({ options }) => options.token ?? []);
    for (const revoked of token === undefined ? [...this.#granted.keys(), ...permanent] : [token])
      this.#revoked.add(revoked);
  }

  restoreTokens(): void {
    this.#revoked.clear();
  }
}
