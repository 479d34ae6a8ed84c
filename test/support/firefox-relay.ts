// Starts Firefox with the arguments, and passes on what Playwright and Firefox say to each other.
// Firefox does not know how to emulate color schemes, which Playwright demands at the start.

const [command = "", ...args] = process.argv.slice(2);
const firefox = Bun.spawn([command, ...args], { stdio: ["ignore", "ignore", "pipe"] });
const unknown = "emulation.setMediaFeaturesOverride";

interface Message {
  readonly id: number;
  readonly method: string;
}

let said = "";
for await (const text of firefox.stderr.pipeThrough(new TextDecoderStream())) {
  process.stderr.write(text.replace("WebDriver BiDi listening", "Firefox listens"));
  said = (said + text).slice(-10_000);
  const address = said.match(/WebDriver BiDi listening on (ws:\S+)\n/)?.[1];
  if (address === undefined) continue;
  said = "";
  const { port } = serve(address);
  process.stderr.write(`WebDriver BiDi listening on ws://127.0.0.1:${port}\n`);
}
process.exit(await firefox.exited);

function serve(address: string) {
  return Bun.serve<WebSocket>({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request, server) => {
      const socket = new WebSocket(`${address}/session`);
      await new Promise((resolve, reject) => {
        socket.onopen = resolve;
        socket.onerror = reject;
      });
      return server.upgrade(request, { data: socket }) ? undefined : new Response(null, { status: 400 });
    },
    websocket: {
      maxPayloadLength: 256 * 1024 * 1024,
      open: (driver) => {
        driver.data.onmessage = ({ data }) => driver.send(data);
        driver.data.onclose = () => driver.close();
      },
      message: (driver, text) => {
        const { id, method } = JSON.parse(`${text}`) as Message;
        if (method === unknown) driver.send(JSON.stringify({ type: "success", id, result: {} }));
        else driver.data.send(text);
      },
      // Also when the tests are killed.
      close: (driver) => {
        driver.data.close();
        firefox.kill();
      },
    },
  });
}
