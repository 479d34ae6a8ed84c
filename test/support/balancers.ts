import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { root } from "./pds.ts";

export interface Balancer {
  readonly program: string;
  /**
   * @param own a folder for its files
   * @param replicas ports of three replicas
   * @returns the arguments that start it in the foreground
   */
  readonly prepare: (own: string, port: number, replicas: readonly number[]) => Promise<readonly string[]>;
}

/** A configuration of the documentation with the replicas' ports and its own. */
async function configure(file: string, own: number, replicas: readonly number[]): Promise<string> {
  const text = await readFile(join(root, "deploy", file), "utf8");
  return [...replicas, own].reduce(
    (result, port, index) =>
      result.replace(index < 3 ? `127.0.0.1:300${index + 1}` : "127.0.0.1:8080", `127.0.0.1:${port}`),
    text,
  );
}

export const haproxy: Balancer = {
  program: "haproxy",
  prepare: async (own, port, replicas) => {
    await mkdir(own, { recursive: true });
    await writeFile(join(own, "haproxy.cfg"), await configure("haproxy.cfg", port, replicas));
    return ["-db", "-f", join(own, "haproxy.cfg")];
  },
};

/** Writes a configuration into a folder. @returns the arguments that start nginx with it in the foreground */
export async function configureNginx(own: string, http: string): Promise<readonly string[]> {
  await mkdir(own, { recursive: true });
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const paths = temporary.map((name) => `${name}_temp_path ${join(own, name)};`).join("\n");
  const user = process.getuid?.() === 0 ? "user root;" : "";
  const text = `${user} daemon off; pid ${own}/pid; events {} http { access_log off; ${paths} ${http} }`;
  await writeFile(join(own, "nginx.conf"), text);
  return ["-p", own, "-c", join(own, "nginx.conf"), "-e", join(own, "error.log")];
}

export const nginx: Balancer = {
  program: "nginx",
  prepare: async (own, port, replicas) => configureNginx(own, await configure("nginx.conf", port, replicas)),
};
