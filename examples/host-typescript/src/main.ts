// npm start -- [--record FILE] [--answer OPTION] SCENARIO PROMPT: plays a scenario and prints what this host
// shows of it. Questions are put to whoever sits at the terminal, unless --answer names the option to choose.

import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";
import { Host } from "./host.js";
import { lines, type Question } from "./permission.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { record: { type: "string" }, answer: { type: "string" } },
});
const [scenario = "", prompt = ""] = positionals;
const file = values.record;
if (file) rmSync(file, { force: true });
// A session that nobody comes back to is not kept among the others.
const state = mkdtempSync(path.join(tmpdir(), "harn-host-"));
const host = new Host(["acp", "--engine", `script:${scenario}`, "--state-dir", state], {
  asked: async (question, withdrawn) => {
    console.log(lines(question).join("\n"));
    const answer = values.answer ?? (await typed(question, withdrawn));
    console.log(`> ${answer ?? "cancelled"}`);
    return answer;
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

/** The option whose number is typed. Anything else is no answer: nothing is granted by accident. */
async function typed({ options }: Question, withdrawn: AbortSignal): Promise<string | undefined> {
  if (!process.stdin.isTTY) return undefined;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return options[Number(await terminal.question("> ", { signal: withdrawn })) - 1]?.id;
  } catch {
    return undefined;
  } finally {
    terminal.close();
  }
}
