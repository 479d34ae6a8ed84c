import { createPostgres } from "./support/postgres.ts";

// One PostgreSQL for all test files; each test makes a database of its own in it.
const postgres = await createPostgres();
try {
  const tests = Bun.spawn(
    [
      process.execPath,
      "test",
      "--parallel=2",
      `--timeout=${process.env.TEST_TIMEOUT_MS ?? 30_000}`,
      ...process.argv.slice(2),
    ],
    {
      env: { ...process.env, TEST_POSTGRES_URL: postgres.url },
      stdio: ["ignore", "inherit", "inherit"],
    },
  );
  process.exitCode = await tests.exited;
} finally {
  await postgres.remove();
}
