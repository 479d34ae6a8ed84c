import { expect } from "bun:test";
import { type Environment, pds } from "./pds.ts";

/** Runs a command that shall succeed without a message. @returns its data */
export async function dataOf(args: readonly string[], environment: Environment = {}, cwd?: string): Promise<string> {
  const { code, stdout, stderr } = await pds(args, environment, cwd);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout;
}

export const jsonOf = async (args: readonly string[], environment?: Environment, cwd?: string) =>
  JSON.parse(await dataOf([...args, "--json"], environment, cwd));
