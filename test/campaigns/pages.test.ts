import { root } from "../support/pds.ts";
import { openReader, testCommands } from "../support/reader.ts";

/** Pages that begin with a fresh clone. */
for (const file of ["docs/tutorial.md", "packages/platform-stand-in/README.md"]) testCommands(file, await openReader());

/** Pages that share a clone, whose service runs. */
const shared = await openReader();
await shared.run("npm start");
for (const file of [...new Bun.Glob("docs/{how-to,reference}/*.md").scanSync(root)].sort()) testCommands(file, shared);
