// Connects a client with an agent and records every line between them, and the agent's
// stderr: node tap.mjs LOG [--hide-resume] -- COMMAND ARGS...
//
// acpx keeps the replay of session/load to itself and prefers session/resume where it is offered.
// --hide-resume removes that one capability from the initialize answer, so that acpx loads.

import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [log, ...rest] = process.argv.slice(2);
const hideResume = rest[0] === "--hide-resume";
const [command, ...args] = rest.slice(rest.indexOf("--") + 1);

const note = (from, line) => appendFileSync(log, `${JSON.stringify({ from, line })}\n`);

function shown(line) {
  if (!hideResume) return line;
  const message = JSON.parse(line);
  delete message.result?.agentCapabilities?.sessionCapabilities?.resume;
  return JSON.stringify(message);
}

const child = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"] });
createInterface({ input: process.stdin })
  .on("line", (line) => {
    note("client", line);
    child.stdin.write(`${line}\n`);
  })
  .on("close", () => child.stdin.end());
createInterface({ input: child.stdout }).on("line", (line) => {
  note("agent", line);
  process.stdout.write(`${shown(line)}\n`);
});
createInterface({ input: child.stderr }).on("line", (line) => {
  note("stderr", line);
  process.stderr.write(`${line}\n`);
});
process.on("SIGTERM", () => child.kill("SIGTERM"));
child.on("close", (code, signal) => {
  note("exit", signal ?? String(code));
  process.exitCode = code ?? 1;
});
