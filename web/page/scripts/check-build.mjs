// Builds into a temporary folder and compares the result with the checked-in files, byte for byte.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = fileURLToPath(new URL("..", import.meta.url));
const kept = join(root, "../../crates/state/page");
const made = mkdtempSync(join(tmpdir(), "harn-page-"));

const files = (folder) => readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
  .sort();

try {
  await build({ root, logLevel: "warn", build: { outDir: made } });
  const wrong = [...new Set([...files(kept), ...files(made)])].filter((name) => {
    try {
      return !readFileSync(join(kept, name)).equals(readFileSync(join(made, name)));
    } catch {
      return true;
    }
  });
  if (wrong.length > 0) {
    console.error(`crates/state/page is not what these sources make: ${wrong.join(", ")}\nRun: npm run build`);
    process.exitCode = 1;
  } else {
    console.log("crates/state/page is what these sources make.");
  }
} finally {
  rmSync(made, { recursive: true, force: true });
}
