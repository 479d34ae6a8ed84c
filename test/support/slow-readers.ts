// Connections that send many requests at once and read slowly, in a process of their own, until it
// is killed. Those that are closed are opened again.
// Arguments: URL of the server, path, number of connections, requests that each sends at once.

const [url = "", path = "", connections = "", requests = ""] = process.argv.slice(2);
const { hostname, port } = new URL(url);
const text = `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(Number(requests));
const readEveryMs = 1000;
const retryMs = 200;
const waiting = new Set<Bun.Socket>();

async function connect(): Promise<void> {
  const retry = () => void setTimeout(connect, retryMs);
  try {
    await Bun.connect({
      hostname,
      port: Number(port),
      socket: {
        open: (socket) => void socket.write(text),
        data: (socket) => {
          socket.pause();
          waiting.add(socket);
        },
        error() {},
        close: (socket) => {
          waiting.delete(socket);
          retry();
        },
      },
    });
  } catch {
    retry();
  }
}

await Promise.all(Array.from({ length: Number(connections) }, connect));
process.stdout.write("all are connected\n");
setInterval(() => {
  for (const socket of waiting) socket.resume();
  waiting.clear();
}, readEveryMs);
