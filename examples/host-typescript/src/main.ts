// npm start -- [--record FILE] SCENARIO PROMPT: plays a scenario and prints what this host shows of it.

import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { Host } from "./host.js";

const { values, positionals } = parseArgs({ allowPositionals: true, options: { record: { type: "string" } } });
const [scenario = "", prompt = ""] = positionals;
const file = values.record;
if (file) rmSync(file, { force: true });
// A session that nobody comes back to is not kept among the others.
const state = mkdtempSync(path.join(tmpdir(), "harn-host-"));
const host = new Host(["acp", "--engine", `script:${scenario}`, "--state-dir", state], {
  asked: (question, [first]) => {
    console.log(`? ${question} — ${first?.name}`);
    return first?.optionId;
  },
  ...(file && { line: (line: string) => appendFileSync(file, `${line}\n`) }),
});
await host.initialize();
const session = await host.open(process.cwd());
await host.prompt(session, prompt);
for (const row of host.rows.values()) console.log(`· ${row}`);
console.log(`\n${host.answer}`);
await host.close(session);
process.exitCode = (await host.end()) ?? 1;
rmSync(state, { recursive: true });
