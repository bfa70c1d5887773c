// Runs harn-serve with the agent `explore` and the MCP servers of a test, and talks to it line by line. The tests
// are about the servers, so the client is minimal.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

const BINARY = process.env.HARN_SERVE;
// A deadline, so that a hang fails the test: nothing here measures time.
const PATIENCE_MS = 60_000;

/** Rejects if `promise` does not settle before the deadline. */
export function patiently(what, promise) {
  const stuck = new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`gave up waiting for ${what}`)), PATIENCE_MS).unref();
  });
  return Promise.race([promise, stuck]);
}

/**
 * Runs `use(agent)` in a session with these servers, then closes the agent's input. Checks that the agent exits with 0,
 * that its stderr is empty, and that its child processes have ended.
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
  /** The titles of the permission requests. */
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

  /** Sends a prompt, and returns the text of the turn and the last state of its tool calls. */
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

  /** Calls a tool with the agent's `/tool`, and returns the call when it has ended. */
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
  // A zombie has ended, even if its new parent has not reaped it.
  const runs = (pid) => {
    const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
    return stdout.trim() !== "" && !stdout.trim().startsWith("Z");
  };
  while (pids.some(runs)) await new Promise((done) => setTimeout(done, 10));
}
