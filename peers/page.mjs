// Checks the code blocks of a page: node page.mjs PAGE FOLDER
//
// Runs its ```sh blocks as one script, from the root of the repository, with HARN_SERVE as the
// `harn-serve` on the path. A file of the folder must contain its ```ts blocks, word for word.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const [page, folder] = process.argv.slice(2);
const { HARN_SERVE, ...env } = process.env;
if (!HARN_SERVE) throw new Error("HARN_SERVE must name the binary; peers/run sets it");

const blocks = (language) => {
  const fence = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms");
  return [...readFileSync(page, "utf8").matchAll(fence)].map(([, text]) => text);
};

const sources = readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith(".ts") && !entry.parentPath.includes("node_modules"))
  .map((entry) => readFileSync(path.join(entry.parentPath, entry.name), "utf8"));
// The page may indent a quotation less than its source.
const flat = (text) => text.split("\n").map((line) => line.trim()).join("\n");
const strangers = blocks("ts").filter((block) => !sources.some((source) => flat(source).includes(flat(block))));
for (const block of strangers) console.error(`${page}: this is in no file of ${folder}:\n${block}`);

const bin = mkdtempSync(path.join(tmpdir(), "harn-page-"));
symlinkSync(HARN_SERVE, path.join(bin, "harn-serve"));
const script = path.join(bin, "page.sh");
writeFileSync(script, blocks("sh").join("\n"));
const { status } = spawnSync("bash", ["-euvo", "pipefail", script], {
  env: { ...env, PATH: `${bin}:${env.PATH}` },
  stdio: ["ignore", "inherit", "inherit"],
});
rmSync(bin, { recursive: true });
if (status !== 0) console.error(`${page}: its commands ended with ${status}`);
process.exitCode = status === 0 && strangers.length === 0 ? 0 : 1;
