import { connect } from "node:net";

// Shows where the parser of the runtime differs from the standards, in a form to report to Bun.
const server = Bun.serve({ port: 0, fetch: () => Bun.sleep(9).then(() => new Response("ok")) });
const rest = " HTTP/1.1\r\nHost: a\r\n\r\n";
for (const lines of [["GET /", "GET /"], ["GET /", "BLAH"], ["FOO /"], ["OPTIONS *"], ["GET /a b"]]) {
  const sent = lines.map((line) => line + rest).join("");
  let got = "";
  const socket = connect(server.port ?? 0, "127.0.0.1", () => socket.write(sent));
  socket.on("data", (bytes) => {
    got += bytes;
  });
  await new Promise((resolve) => socket.on("close", resolve));
  process.stdout.write(`${lines.join(", ")} gets ${got.split("\r\n")[0] || "nothing"}\n`);
}
server.stop();
