// A minimal ACP host on the TypeScript SDK: starts the agent, answers its requests, stores every
// update, and at the end checks that neither the agent nor the SDK complained.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { PassThrough, Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const BINARY = process.env.HARN_SERVE;
const SCENARIOS = {
  peer: "../../fixtures/scenarios/peer.yaml",
  tour: "../../fixtures/scenarios/tour.yaml",
  person: "../person.yaml",
  steer: "../steer.yaml",
};
const engine = (play) =>
  play === "explore" ? play : `script:${fileURLToPath(new URL(SCENARIOS[play], import.meta.url))}`;
// A deadline, so that a hang fails the test: nothing here measures time.
const PATIENCE_MS = 60_000;

// The answers of a host with the bridge that lends nothing.
const LENDS_NOTHING = {
  "host/tools/list": () => ({ tools: [] }),
  "host/capabilities": () => ({}),
  "skills/list": () => [],
};

// The SDK reports unreadable messages only on the console.
const complaints = [];
for (const level of ["error", "warn"]) {
  console[level] = (...args) => complaints.push([level, ...args]);
}

/** Rejects if `promise` does not settle before the deadline. */
export function patiently(what, promise) {
  const stuck = new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`gave up waiting for ${what}`)), PATIENCE_MS).unref();
  });
  return Promise.race([promise, stuck]);
}

/**
 * Runs `use(host)` against a fresh agent process, then closes it and checks both error logs.
 * `profile` is the command line's, `wish` the one that the client requests, `play` the scenario, or
 * the agent `explore`; `form` and `bridge` are the two ways in which a host can ask a person.
 * `lends` has a handler for each request of the bridge that the host answers, `env` is added to the environment.
 */
export async function withHost({ state, profile, play = "peer", env, ...offer }, use) {
  assert.ok(BINARY, "HARN_SERVE must name the binary; peers/run sets it");
  const args = ["acp", "--engine", engine(play), "--state-dir", state];
  if (profile) args.push("--profile", profile);
  const child = spawn(BINARY, args, { stdio: ["pipe", "pipe", "pipe"], env: { ...process.env, ...env } });
  const exited = once(child, "close");
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (stderr += text));

  complaints.length = 0;
  const host = new Host((host) => overStdio(host, child), offer);
  try {
    await use(host);
    child.stdin.end();
    const [code, signal] = await patiently("the agent to end after EOF", exited);
    assert.deepEqual({ code, signal }, { code: 0, signal: null }, stderr);
    assert.equal(stderr, "", "the agent wrote to stderr");
    assert.deepEqual(complaints, [], "the SDK complained");
    assert.deepEqual(verify(host.recording), host.faults, "what was said breaks the rules of the wire");
  } finally {
    child.kill("SIGKILL");
  }
}

/**
 * Runs `use(connect)` against a fresh `harn-serve serve`, where `connect(stream, offer)` makes a host of what
 * `stream(url, token)` gives, then ends the process with SIGTERM and checks all error logs.
 */
export async function withServer({ state, profile, play = "peer" }, use) {
  assert.ok(BINARY, "HARN_SERVE must name the binary; peers/run sets it");
  const args = ["serve", "--engine", engine(play), "--state-dir", state];
  if (profile) args.push("--profile", profile);
  const { HARN_SERVE_TOKEN: _, ...env } = process.env;
  const child = spawn(BINARY, args, { stdio: ["ignore", "ignore", "pipe"], env });
  const exited = once(child, "close");
  let stderr = "";
  const url = new Promise((done) =>
    child.stderr.setEncoding("utf8").on("data", (text) => {
      stderr += text;
      const found = stderr.match(/listening on (http:\S+)\n/);
      if (found) done(found[1]);
    }),
  );
  complaints.length = 0;
  const hosts = [];
  try {
    const at = await patiently("the server to listen", url);
    const token = (await readFile(path.join(state, "token"), "utf8")).trim();
    await use((stream, offer = {}) => {
      const host = new Host((host) => tapped(host, stream(at, token)), offer);
      hosts.push(host);
      return host;
    });
    for (const host of hosts) await host.leave();
    child.kill("SIGTERM");
    const [code, signal] = await patiently("the server to end after SIGTERM", exited);
    assert.deepEqual({ code, signal }, { code: 0, signal: null }, stderr);
    assert.doesNotMatch(stderr, /\b(warn|error)\b|panicked/i, "the server complained on stderr");
    assert.deepEqual(complaints, [], "the SDK complained");
    for (const host of hosts) {
      assert.deepEqual(verify(host.recording), host.faults, "what was said breaks the rules of the wire");
    }
  } finally {
    child.kill("SIGKILL");
  }
}

/** A process's stdin and stdout as the SDK's stream; both are also recorded, line by line. */
function overStdio(host, child) {
  createInterface({ input: child.stdout }).on("line", (line) => host.onWire(line));
  const lines = new PassThrough();
  createInterface({ input: lines }).on("line", (line) => host.onSent(line));
  lines.pipe(child.stdin);
  return acp.ndJsonStream(Writable.toWeb(lines), Readable.toWeb(child.stdout));
}

/** A stream of the SDK, recorded message by message. */
function tapped(host, { readable, writable }) {
  const tap = (note) =>
    new TransformStream({
      transform(message, out) {
        note(JSON.stringify(message));
        out.enqueue(message);
      },
    });
  const outgoing = tap((line) => host.onSent(line));
  // The connection itself reports how it ends.
  outgoing.readable.pipeTo(writable).catch(() => {});
  return { readable: readable.pipeThrough(tap((line) => host.onWire(line))), writable: outgoing.writable };
}

/** The rules of the wire that a recording breaks. */
function verify(recording) {
  const input = `${recording.join("\n")}\n`;
  const options = { input, encoding: "utf8" };
  const { status, stdout, stderr } = spawnSync(BINARY, ["fixtures", "verify", "--json", "-"], options);
  assert.ok(status === 0 || status === 1, stderr);
  return stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line).rule);
}

class Host {
  /** Every message of the agent so far, as it was on the wire, and every line to it. */
  wire = [];
  sent = [];
  /** Both, in the form that `harn-serve fixtures verify` reads. */
  recording = [];
  /** The rules that the test itself breaks. */
  faults = [];
  /** Every `session/update` so far, as the SDK delivered it. */
  updates = [];
  /** The params of every `_harn/agentEvent` so far, as the SDK delivered them. */
  events = [];
  /** The params of every `harn.hitl.requested` so far, as the SDK delivered them. */
  requested = [];
  /** Every permission request so far, and the calls of those that were withdrawn. */
  asked = [];
  withdrawn = [];
  /** The option chosen for the next permission requests, or a promise of it; `undefined` cancels. */
  choice = "allow_once";
  /** Every form so far, and the answers to the next ones. */
  forms = [];
  answers = [];
  /** Every request of the bridge so far. */
  bridged = [];
  /** The handler of `harn.hitl.requested`. */
  respond = () => {};
  #waiting = [];
  #offer;

  #connection;

  constructor(connect, offer) {
    this.#offer = offer;
    const client = acp
      .client({ name: "harn-peer" })
      .onNotification(acp.methods.client.session.update, ({ params }) => {
        this.updates.push(params.update);
        this.#heard("session/update", params.update);
      })
      // A method that ACP does not define needs a parser of the host; ours accepts any params.
      .onNotification("_harn/agentEvent", (params) => params, ({ params }) => {
        this.events.push(params);
        this.#heard("_harn/agentEvent", params);
      })
      .onRequest(acp.methods.client.session.requestPermission, async ({ params, signal }) => {
        this.asked.push(params);
        signal.addEventListener("abort", () => this.withdrawn.push(params.toolCall.toolCallId));
        this.#heard("session/request_permission", params);
        const optionId = await this.choice;
        return { outcome: optionId ? { outcome: "selected", optionId } : { outcome: "cancelled" } };
      })
      .onRequest(acp.methods.client.elicitation.create, ({ params }) => {
        this.forms.push(params);
        return this.answers.shift();
      })
      .onNotification("harn.hitl.requested", (params) => params, ({ params }) => {
        this.requested.push(params);
        return this.respond(params);
      });
    const lends = offer.bridge ? { ...LENDS_NOTHING, ...offer.lends } : {};
    for (const [method, answer] of Object.entries(lends)) {
      client.onRequest(method, (params) => params, ({ params, signal }) => {
        this.bridged.push({ method, params });
        return answer(params, signal);
      });
    }
    this.#connection = client.connect(connect(this));
    this.agent = this.#connection.agent;
  }

  /** A line of the agent, and one to it. */
  onWire(line) {
    this.wire.push(JSON.parse(line));
    this.recording.push(`{"to":"client","message":${line}}`);
  }

  onSent(line) {
    this.sent.push(line);
    this.recording.push(`{"to":"agent","message":${line}}`);
  }

  /** Ends the connection. */
  async leave() {
    this.#connection.close();
    await patiently("the connection to close", this.#connection.closed);
  }

  initialize() {
    const { wish, form, bridge } = this.#offer;
    const harn = { ...(wish && { profile: wish }), ...(bridge && { hostBridge: true }) };
    return this.#call(acp.methods.agent.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientCapabilities: {
        ...(form && { elicitation: { form: {} } }),
        ...((wish || bridge) && { _meta: { harn } }),
      },
    });
  }

  close(sessionId) {
    return this.#call(acp.methods.agent.session.close, { sessionId });
  }

  /** Returns and clears the SDK's console output so far, so that the final check ignores it. */
  takeComplaints() {
    return complaints.splice(0);
  }

  async newSession(cwd) {
    return (await this.#call(acp.methods.agent.session.new, { cwd, mcpServers: [] })).sessionId;
  }

  /** Aborting `signal` cancels the request. */
  prompt(sessionId, text, signal) {
    const params = { sessionId, prompt: [{ type: "text", text }] };
    return this.#call(acp.methods.agent.session.prompt, params, signal && { cancellationSignal: signal });
  }

  /** Sends an extension request, which the SDK sends like any other. */
  extension(method, params) {
    return this.#call(method, params);
  }

  cancel(sessionId) {
    return this.agent.notify(acp.methods.agent.session.cancel, { sessionId });
  }

  async list(cwd) {
    return (await this.#call(acp.methods.agent.session.list, { cwd })).sessions;
  }

  load(sessionId, cwd) {
    return this.#call(acp.methods.agent.session.load, { sessionId, cwd, mcpServers: [] });
  }

  /** Resolves at the first update from now on that `seen` accepts. */
  next(what, seen) {
    return this.nextOf("session/update", what, seen);
  }

  /** The same for a `_harn/agentEvent` or a `session/request_permission`. */
  nextOf(method, what, seen = () => true) {
    return patiently(what, new Promise((done) => this.#waiting.push({ method, seen, done })));
  }

  #heard(method, params) {
    this.#waiting = this.#waiting.filter((it) => !(it.method === method && it.seen(params) && (it.done(), true)));
  }

  async #call(method, params, options) {
    const answer = await patiently(`the answer to ${method}`, this.agent.request(method, params, options));
    // The SDK runs handlers of updates that arrived before the answer as microtasks: let them finish.
    await new Promise(setImmediate);
    return answer;
  }
}

/** The joined text of all updates of one kind. */
export function textOf(updates, kind) {
  return updates.filter((u) => u.sessionUpdate === kind).map((u) => u.content.text).join("");
}

/** The updates of the conversation, with the chunks of each message joined and without `_meta`. */
export function story(updates) {
  const told = [];
  for (const { _meta, ...update } of updates) {
    const last = told.at(-1);
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
      case "agent_thought_chunk":
        if (last?.sessionUpdate === update.sessionUpdate && last.messageId === update.messageId) {
          last.content.text += update.content.text;
        } else {
          told.push(structuredClone(update));
        }
        break;
      case "plan":
      case "tool_call":
      case "tool_call_update":
        told.push(update);
        break;
      // Commands, mode, options, title and usage describe the session, not the conversation.
    }
  }
  return told;
}
