import { writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { findFreePort } from "../test/support/free-port.ts";
import { withFolder } from "./support/folder.ts";
import { print } from "./support/print.ts";
import { startService, stopProcess } from "./support/service.ts";

// Counts the requests that fail while the serving processes are replaced, for this service and for
// the reloads of nginx and HAProxy: `npm run bench -- handover [HANDOVERS]`.
const handovers = Number(process.argv[2] ?? 20);
const newClients = 16;
const keptClients = 8;
const pauseMs = 300;

type Environment = Readonly<Record<string, string>>;

interface Server {
  readonly name: string;
  /** @returns what replaces the serving processes, and what stops them in the end */
  readonly start: (
    port: number,
    folder: string,
  ) => Promise<{ replace: () => Promise<void>; stop: () => Promise<void> }>;
}

const environmentOf = (port: number, folder: string): Environment => ({
  DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}`,
  PORT: `${port}`,
  DRAIN_SECONDS: "1",
});

/** A process that takes over the port of another. */
const takeover: Server = {
  name: "this service, by `REUSE_PORT`",
  start: async (port, folder) => {
    const environment = { ...environmentOf(port, folder), REUSE_PORT: "on" };
    let { child: current } = await startService(environment);
    const replace = async () => {
      const next = await startService(environment);
      await stopProcess(current);
      current = next.child;
    };
    return { replace, stop: () => stopProcess(current) };
  },
};

/** A server that replaces its workers on a signal, and leaves the old ones until they are done. */
const reloading = (name: string, signal: NodeJS.Signals, configure: (port: number, folder: string) => string) => ({
  name,
  start: async (port: number, folder: string) => {
    const file = join(folder, "reloading.conf");
    await writeFile(file, configure(port, folder));
    const args = name === "nginx" ? ["-p", folder, "-e", join(folder, "error.log"), "-c"] : ["-W", "-db", "-f"];
    const child = Bun.spawn([name, ...args, file], { stdio: ["ignore", "ignore", "ignore"] });
    while ((await requestOnce(port)) !== "200") await Bun.sleep(20);
    const replace = async () => {
      child.kill(signal);
      await Bun.sleep(1500);
    };
    return { replace, stop: () => stopProcess(child) };
  },
});

const servers: readonly Server[] = [
  takeover,
  reloading("nginx", "SIGHUP", (port, folder) => {
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    const paths = temporary.map((name) => `${name}_temp_path ${join(folder, name)};`).join(" ");
    const user = process.getuid?.() === 0 ? "user root;" : "";
    return `${user} worker_processes 2; daemon off; pid ${folder}/nginx.pid; events {}
      http { access_log off; ${paths} server { listen 127.0.0.1:${port}; location / { return 200 "ok"; } } }`;
  }),
  reloading(
    "haproxy",
    "SIGUSR2",
    (port) => `defaults
  mode http
  timeout client 75s
  timeout connect 1s
  timeout server 1s
frontend all
  bind 127.0.0.1:${port}
  http-request return status 200 content-type text/plain string ok
`,
  ),
];

const requestText = (connection: string) => `GET /livez HTTP/1.1\r\nHost: x\r\nConnection: ${connection}\r\n\r\n`;

/** Sends a request on a connection of its own. @returns the status, or why there is none */
function requestOnce(port: number): Promise<string> {
  return new Promise((resolve) => {
    let received = "";
    const socket = connect(port, "127.0.0.1");
    socket.setTimeout(10_000, () => socket.destroy(new Error("timeout")));
    socket.on("error", ({ message }) => resolve(message));
    socket.on("data", (chunk) => {
      received += chunk;
    });
    socket.on("close", () => resolve(received.slice(9, 12)));
    socket.write(requestText("close"));
  });
}

/** Sends a request on a connection that stays open. @returns the head of the response; empty if it is lost */
function requestAgain(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    const finish = (text: string) => {
      socket.off("data", onData).off("close", onClose);
      resolve(text);
    };
    const onData = (chunk: Buffer) => finish(chunk.toString("latin1"));
    const onClose = () => finish("");
    socket.on("data", onData).on("close", onClose);
    socket.write(requestText("keep-alive"));
  });
}

async function measure({ name, start }: Server, folder: string): Promise<void> {
  const port = await findFreePort();
  const { replace, stop } = await start(port, folder);
  const counts = { opened: 0, failed: 0, kept: 0, lost: 0 };
  let isOver = false;
  const opening = Array.from({ length: newClients }, async () => {
    while (!isOver) {
      counts.opened++;
      if ((await requestOnce(port)) !== "200") counts.failed++;
    }
  });
  const keeping = Array.from({ length: keptClients }, async () => {
    let socket: Socket | undefined;
    while (!isOver) {
      if (socket === undefined || socket.destroyed || socket.readableEnded) {
        socket = connect(port, "127.0.0.1").on("error", () => {});
      }
      counts.kept++;
      const head = await requestAgain(socket);
      if (!head.startsWith("HTTP/1.1 200")) counts.lost++;
      if (head === "" || /^connection: close/im.test(head)) socket = void socket.destroy();
      await Bun.sleep(1);
    }
    socket?.destroy();
  });
  for (let count = 0; count < handovers; count++) {
    await replace();
    await Bun.sleep(pauseMs);
  }
  isOver = true;
  await Promise.all([...opening, ...keeping]);
  await stop();
  const figures = [counts.opened, counts.failed, counts.kept, counts.lost].map((count) => count.toLocaleString("en"));
  print(`| ${name} | ${figures.join(" | ")} |`);
}

print(`${handovers} handovers each, ${newClients} clients with new connections, ${keptClients} with kept ones\n`);
print("| server | new connections | failed | requests on kept connections | failed |");
print("| --- | --- | --- | --- | --- |");
await withFolder(async (folder) => {
  for (const server of servers) {
    if (/^this/.test(server.name) || Bun.which(server.name) !== null) await measure(server, folder);
  }
});
process.exit();
