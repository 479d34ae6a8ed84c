import type { Command, CommandOption } from "./command.ts";

const json: CommandOption = { sentence: "Print JSON." };
const force: CommandOption = {
  sentence: "Import even if checks fail; the report lists the overridden checks.",
};
const jobBrand: CommandOption = { value: "text", sentence: "Brand of the job, if it is configured for several." };
const importOptions = {
  brand: { value: "text", sentence: "Brand to import for; defaults to BRAND." },
  "dry-run": { sentence: "Read and check without changing anything." },
  json,
} satisfies Record<string, CommandOption>;
const rollbackOptions = (noun: string) =>
  ({
    to: { value: "n", sentence: `${noun} to make current, also a later one; defaults to the previous one.` },
    brand: { value: "text", sentence: "Brand to roll back; defaults to BRAND." },
    json,
  }) satisfies Record<string, CommandOption>;

/** Commands that only contain others. */
export const groups: Readonly<Record<string, string>> = {
  import: "Replace products, personalization, or presentation with those in files.",
  presentation: "Check a presentation, or begin one.",
  rollback: "Restore the personalization or the presentation from before an import.",
  platform: "Manage what the platform delivers to this service, and from which shop.",
  token: "Create tokens for operators.",
  explain: "Explain what shoppers see.",
  service: "Install this program as a service of the system.",
};

/** Each command loads its dependencies when it runs, so that it starts fast. */
export const commands: Readonly<Record<string, Command>> = {
  serve: {
    summary: "Run the service until it is stopped.",
    run: async () => (await import("./serve.ts")).serve(),
  },
  "import products": {
    arguments: ["<file...>"],
    summary: "Replace all products with those in the files: JSON, a JSON array, or NDJSON.",
    options: {
      ...importOptions,
      force: { sentence: "Import even if more products would be removed than the settings allow." },
    },
    run: async (files, values) => (await import("./import.ts")).importProducts(files, values),
  },
  "import personalization": {
    arguments: ["<folder|url>"],
    summary: "Replace a brand's personalization with the feed in a folder, or at an https:// or s3:// URL.",
    options: { ...importOptions, force },
    run: async ([source = ""], values) => (await import("./import.ts")).importPersonalization(source, values),
  },
  "import presentation": {
    arguments: ["<file|url>"],
    summary: "Replace a brand's presentation with a file of TOML, or one at an https:// or s3:// URL.",
    options: { ...importOptions, force },
    run: async ([source = ""], values) => (await import("./import.ts")).importPresentation(source, values),
  },
  "presentation check": {
    arguments: ["[file]"],
    summary: "List codes of the feed without names, and names without codes: of a file, or of what is stored.",
    options: { brand: { value: "text", sentence: "Brand to check; defaults to BRAND." }, json },
    run: async ([file], values) => (await import("./presentation.ts")).checkNames(file, values),
  },
  "presentation template": {
    summary: "Print a presentation in TOML with the codes of the feed, and limits guessed from its instruction texts.",
    options: { brand: { value: "text", sentence: "Brand to read; defaults to BRAND." } },
    run: async (_, values) => (await import("./presentation.ts")).template(values),
  },
  "rollback personalization": {
    summary: "Restore the personalization that a brand had before its last import, or any stored generation of it.",
    options: rollbackOptions("Generation"),
    run: async (_, values) => (await import("./rollback.ts")).rollBackPersonalization(values),
  },
  "rollback presentation": {
    summary: "Restore the presentation that a brand had before its last import, or any stored one.",
    options: rollbackOptions("Presentation"),
    run: async (_, values) => (await import("./rollback.ts")).rollBackPresentation(values),
  },
  run: {
    arguments: ["<job>"],
    summary: "Run a configured job now, in its own process and within its time limit.",
    options: {
      brand: { value: "text", sentence: "Brand to run the job for, if it is configured for several." },
      "dry-run": { sentence: "Of an import, read and check without changing anything." },
      force,
      json,
      // Internal: the run that the parent process has claimed, and a note for its report.
      claimed: { value: "text" },
      note: { value: "text" },
    },
    run: async ([name = ""], values) => {
      const { runClaimed, runSupervised } = await import("./run.ts");
      return await (values.claimed === undefined ? runSupervised(name, values) : runClaimed(name, values));
    },
  },
  cancel: {
    arguments: ["<run>"],
    summary: "Cancel a run in progress, wherever it runs, and wait until it has ended. It is not retried.",
    options: { json },
    run: async ([run = ""], values) => (await import("./cancel.ts")).cancel(run, values),
  },
  pause: {
    arguments: ["<job>"],
    summary: "Start no scheduled runs of a job, in all replicas, until it is resumed.",
    options: { brand: jobBrand, json },
    run: async ([name = ""], values) => (await import("./pause.ts")).pause(name, values),
  },
  resume: {
    arguments: ["<job>"],
    summary: "Continue the schedule of a paused job from now; times that passed meanwhile are left out.",
    options: { brand: jobBrand, json },
    run: async ([name = ""], values) => (await import("./pause.ts")).resume(name, values),
  },
  jobs: {
    summary: "List the configured jobs with their next run, last run, and last success.",
    options: { json },
    run: async (_, values) => (await import("./jobs.ts")).printJobs(values),
  },
  history: {
    arguments: ["[asc|desc]"],
    summary: "Print the last finished runs and their outcomes, newest first by default.",
    options: {
      job: { value: "job", sentence: "Only runs of this job." },
      brand: { value: "text", sentence: "Only runs for this brand." },
      outcome: { value: "outcome", sentence: "Only runs that succeeded, failed, or were abandoned or cancelled." },
      since: { value: "time", sentence: "Only runs that finished since then: 90m, 24h, 7d, or an ISO 8601 time." },
      limit: { value: "n", sentence: "Number of runs, 1 to 10000; 10 by default." },
      json,
    },
    run: async ([order = "desc"], values) => (await import("./history.ts")).printHistory(order, values),
  },
  logs: {
    arguments: ["<run>"],
    summary: "Print what a run reported, and the last lines that its process printed.",
    options: { json },
    run: async ([run = ""], values) => (await import("./logs.ts")).printLogs(run, values),
  },
  brands: {
    summary: "List the brands whose personalization is stored.",
    options: { json },
    run: async (_, values) => (await import("./brands.ts")).printBrands(values),
  },
  "brands remove": {
    arguments: ["<brand>"],
    summary: "Remove a brand's personalization from the store, with all generations and presentations.",
    options: { json },
    run: async ([brand = ""], values) => (await import("./brands.ts")).removeBrand(brand, values),
  },
  "explain sku": {
    arguments: ["<sku>"],
    summary: "Say whether shoppers can personalize a SKU, and why not; fail if they cannot.",
    options: {
      brand: { value: "text", sentence: "Brand to ask about; defaults to the one that shoppers see." },
      json,
    },
    run: async ([sku = ""], values) => (await import("./explain.ts")).printSku(sku, values),
  },
  backup: {
    arguments: ["<file>"],
    summary: "Copy the embedded store, as of one moment, into a new file, and check it; the service keeps running.",
    options: { json },
    run: async ([path = ""], values) => (await import("./backup.ts")).backup(path, values),
  },
  check: {
    summary: "Check the settings, and whether store, feeds, and platform can be reached; print the next runs.",
    options: { json },
    run: async (_, values) => (await import("./check.ts")).check(values),
  },
  health: {
    summary: "Ask the service on this machine whether it responds; for health checks of containers.",
    options: { ready: { sentence: "Ask whether it is ready for requests, too." } },
    run: async (_, values) => (await import("./health.ts")).health(values),
  },
  "platform subscribe": {
    summary: "Let the platform deliver changes of products to this service.",
    options: {
      url: { value: "url", sentence: "Address to deliver to; defaults to PUBLIC_URL and the service's path." },
    },
    run: async (_, values) => (await import("./platform.ts")).subscribe(values),
  },
  "platform unsubscribe": {
    summary: "End the deliveries to this service.",
    options: {
      url: { value: "url", sentence: "Address to end deliveries to; defaults to the subscribed one." },
    },
    run: async (_, values) => (await import("./platform.ts")).unsubscribe(values),
  },
  "platform subscriptions": {
    summary: "List the addresses that the platform delivers to, of this app in this shop.",
    options: { json },
    run: async (_, values) => (await import("./platform.ts")).printSubscriptions(values),
  },
  "platform shop": {
    summary: "Print the shop that the stored products come from, and the one that answers; fail if they differ.",
    options: {
      "change-to": {
        value: "id",
        sentence: "Store products of this shop from now on. It must be the one that answers.",
      },
      json,
    },
    run: async (_, values) => (await import("./platform-shop.ts")).platformShop(values),
  },
  "token create": {
    arguments: ["<name>"],
    summary: "Create a token for an operator, and print it once with the lines for pds.toml. It is stored nowhere.",
    options: {
      role: { value: "role", sentence: "view: only look. operate: also run jobs, cancel runs, roll back, and so on." },
      json,
    },
    run: async ([name = ""], values) => (await import("./token.ts")).createToken(name, values),
  },
  config: {
    summary: "Print the settings in effect and their sources; secrets stay hidden.",
    options: { json },
    run: async (_, values) => (await import("./config.ts")).printConfig(values),
  },
  openapi: {
    summary: "Print the OpenAPI 3.1 document.",
    run: async () => (await import("./openapi.ts")).printOpenApi(),
  },
  init: {
    summary: "Write a commented pds.toml from these options, or from questions on a terminal.",
    options: {
      brand: { value: "text", sentence: "Name of the brand." },
      "shop-domain": { value: "domain", sentence: "Domain of the shop." },
      "database-url": { value: "url", sentence: "The store; an embedded one by default." },
      feed: { value: "source", sentence: "Folder or URL of the personalization feed." },
      products: { value: "file", sentence: "File with all products." },
      platform: { sentence: "Read products from the shop's platform." },
    },
    run: async (_, values) => (await import("./init.ts")).init(values),
  },
  "service install": {
    summary: "Install this program as a service of systemd, with a sandbox, its settings, and a folder for secrets.",
    options: {
      shop: {
        value: "name",
        sentence: "Install pds@NAME, one service of several, which has its own settings, secrets, and store.",
      },
      print: { sentence: "Print the unit instead." },
    },
    run: async (_, values) => (await import("./service.ts")).installService(values),
  },
  completions: {
    arguments: ["<bash|zsh|fish>"],
    summary: "Print a script that completes commands and options in a shell.",
    run: async ([shell = ""]) => (await import("./completions.ts")).printCompletions(shell, commands),
  },
};
