// harn-serve with the agent `explore` and the MCP servers of a test, spoken to line by line: what is tried here
// are the servers, so the client is as bare as it can be.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

const BINARY = process.env.HARN_SERVE;
// Only so that a hang fails instead of hanging: nothing here measures time.
const PATIENCE_MS = 60_000;

/** Rejects when `promise` takes so long that something must be stuck. */
export function patiently(what, promise) {
  const stuck = new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`gave up waiting for ${what}`)), PATIENCE_MS).unref();
  });
  return Promise.race([promise, stuck]);
}

/**
 * Runs `use(agent)` in a session with these servers, then closes the agent's input, and insists that it ends well, that
 * it had nothing to complain about, and that everything it started is gone.
 */
export async function withAgent({ state, log, cwd, mcpServers }, use) {
  assert.ok(BINARY, "HARN_SERVE must name the binary; peers/run sets it");
  const args = ["acp", "--engine", "explore", "--state-dir", state, "--profile", "acp"];
  args.push("--log-file", log, "--log-level", "trace");
  const child = spawn(BINARY, args, { stdio: ["pipe", "pipe", "pipe"] });
  const exited = once(child, "close");
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (stderr += text));
  try {
    const agent = new Agent(child);
    await agent.open(cwd, mcpServers);
    await use(agent);
    const started = descendants(child.pid);
    child.stdin.end();
    const [code, signal] = await patiently("the agent to end after EOF", exited);
    assert.deepEqual({ code, signal }, { code: 0, signal: null }, stderr);
    assert.equal(stderr, "", "the agent complained on stderr");
    await patiently("its servers to end with it", gone(started));
    return { started: started.length };
  } finally {
    child.kill("SIGKILL");
  }
}

class Agent {
  #child;
  #next = 0;
  #waiting = new Map();
  #session;
  /** What was asked for, by title. */
  asked = [];
  #updates = [];

  constructor(child) {
    this.#child = child;
    createInterface({ input: child.stdout }).on("line", (line) => this.#hear(JSON.parse(line)));
    child.once("close", () => {
      for (const { reject } of this.#waiting.values()) reject(new Error("the agent ended"));
    });
  }

  async open(cwd, mcpServers) {
    await this.#ask("initialize", { protocolVersion: 1, clientCapabilities: {} });
    const { sessionId } = await this.#ask("session/new", { cwd, mcpServers });
    this.#session = sessionId;
  }

  /** Prompts, and gives what the turn said and the last state of its tool calls. */
  async prompt(text) {
    this.#updates = [];
    const prompt = [{ type: "text", text }];
    const { stopReason } = await this.#ask("session/prompt", { sessionId: this.#session, prompt });
    assert.equal(stopReason, "end_turn");
    const calls = new Map();
    let said = "";
    for (const update of this.#updates) {
      if (update.sessionUpdate === "agent_message_chunk") said += update.content.text;
      if (!/^tool_call/.test(update.sessionUpdate)) continue;
      calls.set(update.toolCallId, { ...calls.get(update.toolCallId), ...update });
    }
    return { said, calls: [...calls.values()] };
  }

  /** Calls a tool by the agent's `/tool`, and gives its call when it is over. */
  async call(tool, args) {
    const { calls } = await this.prompt(`/tool ${tool} ${JSON.stringify(args)}`);
    assert.equal(calls.length, 1, JSON.stringify(calls));
    const [call] = calls;
    const text = (call.content ?? []).map((item) => item.content?.text ?? "").join("");
    return { status: call.status, text };
  }

  #ask(method, params) {
    const id = this.#next++;
    const answer = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#say({ id, method, params });
    return patiently(`the answer to ${method}`, answer);
  }

  #say(message) {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  #hear({ id, method, params, result, error }) {
    if (method === "session/update") {
      this.#updates.push(params.update);
    } else if (method === "session/request_permission") {
      this.asked.push(params.toolCall.title);
      const { optionId } = params.options.find((option) => option.kind === "allow_once");
      this.#say({ id, result: { outcome: { outcome: "selected", optionId } } });
    } else if (method === undefined) {
      const { resolve, reject } = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error) reject(new Error(JSON.stringify(error)));
      else resolve(result);
    } else {
      assert.equal(id, undefined, `the agent asked for ${method}`);
    }
  }
}

/** The processes below `pid`. */
function descendants(pid) {
  const { stdout } = spawnSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" });
  const rows = stdout.trim().split("\n").map((row) => row.trim().split(/\s+/).map(Number));
  const below = (parent) =>
    rows.filter(([, of]) => of === parent).flatMap(([child]) => [child, ...below(child)]);
  return below(pid);
}

async function gone(pids) {
  // A process that ended and was not reaped by whoever adopted it runs no more.
  const runs = (pid) => {
    const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
    return stdout.trim() !== "" && !stdout.trim().startsWith("Z");
  };
  while (pids.some(runs)) await new Promise((done) => setTimeout(done, 10));
}
