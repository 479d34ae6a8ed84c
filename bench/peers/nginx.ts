import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Files for which the system lets nginx keep a descriptor open, beside its connections. */
async function countCachedFiles(): Promise<number> {
  const limits = await readFile("/proc/self/limits", "utf8").catch(() => "");
  const [, hard = "20000"] = limits.match(/^Max open files\s+\S+\s+(\d+)/m) ?? [];
  return Math.min(150_000, Number(hard) - 2000);
}

/**
 * Writes the configuration of a static file server with one worker into its own folder.
 * @returns the command
 */
export async function writeNginx(folder: string, root: string, port: number): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true });
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const configuration = `
${process.getuid?.() === 0 ? "user root;" : ""}
worker_processes 1;
worker_rlimit_nofile ${(await countCachedFiles()) + 2000};
daemon off;
pid ${join(folder, "nginx.pid")};
error_log ${join(folder, "error.log")} warn;
events { worker_connections 1024; }
http {
  ${temporary.map((name) => `${name}_temp_path ${join(folder, name)};`).join("\n  ")}
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_timeout 1h;
  keepalive_requests 1000000000;
  open_file_cache max=${await countCachedFiles()} inactive=1h;
  open_file_cache_valid 1h;
  default_type application/json;
  server {
    listen 127.0.0.1:${port};
    root ${root};
  }
}
`;
  const file = join(folder, "nginx.conf");
  await writeFile(file, configuration);
  return ["nginx", "-p", folder, "-c", file, "-e", join(folder, "error.log")];
}
