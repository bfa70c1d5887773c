// acpx, driven from its command line as a person or a script would. Its JSON output is the wire
// itself, so the assertions read messages; tap.mjs records what acpx does not print.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const ACPX = here("node_modules/acpx/dist/cli.js");
const TAP = here("tap.mjs");
const scenario = (name) => here(name === "steer" ? "../steer.yaml" : `../../fixtures/scenarios/${name}.yaml`);
const BINARY = process.env.HARN_SERVE;
// A deadline, so that a hang fails the test: nothing here measures time.
const PATIENCE_S = "60";

let root, home, cwd, state, log, number = 0;

before(async () => {
  assert.ok(BINARY, "HARN_SERVE must name the binary; peers/run sets it");
  root = await realpath(await mkdtemp(path.join(tmpdir(), "harn-peer-acpx-")));
});
after(() => rm(root, { recursive: true, force: true }));

// acpx keeps its records under the home folder, one set for each agent command and folder.
beforeEach(async () => {
  const own = path.join(root, `t${++number}`);
  [home, cwd, state, log] = ["home", "project", "state", "wire.log"].map((n) => path.join(own, n));
  await Promise.all([home, cwd].map((dir) => mkdir(dir, { recursive: true })));
});

const quoted = (words) => words.map((word) => `"${word}"`).join(" ");

/** The command with which acpx starts the agent. acpx sends its name, and the agent selects the profile by it. */
function agent({ hideResume = false, play = "peer" } = {}) {
  const command = [process.execPath, TAP, log, ...(hideResume ? ["--hide-resume"] : []), "--", BINARY];
  command.push("acp", "--engine", `script:${scenario(play)}`, "--state-dir", state);
  return ["--agent", quoted(command)];
}

// The exit code of acpx after a turn in which it denied every permission.
const DENIED = 5;

/** Starts acpx; `done` resolves to its messages when it ends without complaints and with the code `expected`. */
function start(args, expected = 0) {
  const options = ["--format", "json", "--cwd", cwd, "--timeout", PATIENCE_S, ...args];
  const child = spawn(process.execPath, [ACPX, ...options], {
    cwd,
    env: { PATH: process.env.PATH, HOME: home },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const printed = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text) => (printed.out += text));
  child.stderr.setEncoding("utf8").on("data", (text) => (printed.err += text));
  const done = once(child, "close").then(([code]) => {
    assert.equal(code, expected, `acpx ${args.slice(-2).join(" ")}: ${printed.err}${printed.out}`);
    // Its own banner lines name the session and the agent; any other line is a complaint.
    const complaints = printed.err.split("\n").filter((line) => line && !BANNER.test(line));
    assert.deepEqual(complaints, [], "acpx complained");
    return printed.out.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  });
  return { child, done, printed };
}

const BANNER = /^\[acpx\] (session .* · agent |created session |agent: |cwd: )/;
const acpx = (...args) => start(args).done;

/** The wire as the tap saw it: messages each way, and what the agent wrote to stderr. */
async function wire() {
  const entries = (await readFile(log, "utf8")).trim().split("\n").map((line) => JSON.parse(line));
  const of = (from) => entries.filter((e) => e.from === from).map((e) => e.line);
  return {
    sent: of("client").map((line) => JSON.parse(line)),
    received: of("agent").map((line) => JSON.parse(line)),
    stderr: of("stderr"),
    exits: of("exit"),
  };
}

async function assertQuiet() {
  const { stderr, received } = await wire();
  assert.deepEqual(stderr, [], "the agent wrote to stderr");
  assert.deepEqual(received.filter((m) => m.error), [], "the agent answered with an error");
}

const updatesIn = (messages) => messages.filter((m) => m.method === "session/update").map((m) => m.params.update);
const stopIn = (messages) => messages.findLast((m) => m.result?.stopReason)?.result.stopReason;
const textIn = (updates) =>
  updates.filter((u) => u.sessionUpdate === "agent_message_chunk").map((u) => u.content.text).join("");

/** The updates of the conversation, without `_meta`. */
const story = (updates) =>
  updates
    .filter((u) => /^(agent_message_chunk|agent_thought_chunk|plan|tool_call|tool_call_update)$/.test(u.sessionUpdate))
    .map(({ _meta, ...update }) => update);

describe("acpx", () => {
  it("initializes, opens a session and runs a prompt", async () => {
    const messages = await acpx(...agent(), "exec", "hello");
    const updates = updatesIn(messages);
    assert.equal(stopIn(messages), "end_turn");
    assert.equal(textIn(updates), "There are three lines.");
    assert.equal(updates.find((u) => u.sessionUpdate === "tool_call").toolCallId, "look-1");
    const { received } = await wire();
    assert.equal(received[0].result.protocolVersion, 1);
    assert.equal(received[0].result.agentInfo.name, "peer");
    assert.ok(received[1].result.sessionId, "session/new was answered");
    await assertQuiet();
  });

  for (const [flag, option, words, status, code] of [
    ["--approve-all", "allow_once", "It is written.", "completed", 0],
    ["--deny-all", "reject_once", "Then I leave it.", "failed", DENIED],
  ]) {
    it(`answers a permission request with ${option} under ${flag}`, async () => {
      const messages = await start([flag, ...agent(), "exec", "perm please"], code).done;
      const asked = messages.find((m) => m.method === "session/request_permission");
      assert.equal(asked.params.toolCall.title, "Write notes.txt");
      const answer = messages.find((m) => m.id === asked.id && m.result?.outcome);
      assert.deepEqual(answer.result.outcome, { outcome: "selected", optionId: option });
      assert.equal(stopIn(messages), "end_turn");
      const updates = updatesIn(messages);
      assert.equal(textIn(updates), `May I write a note? ${words}`);
      const end = updates.findLast((u) => u.sessionUpdate === "tool_call_update");
      assert.deepEqual([end.toolCallId, end.status], [asked.params.toolCall.toolCallId, status]);
      await assertQuiet();
    });
  }

  it("cancels in the middle of a prompt", async () => {
    await acpx(...agent(), "sessions", "new");
    const slow = start(["--ttl", "1", ...agent(), "prompt", "slow"]);
    const working = new Promise((seen) => {
      slow.child.stdout.on("data", () => slow.printed.out.includes('"working"') && seen());
    });
    await Promise.race([working, slow.done]);
    await acpx(...agent(), "cancel");
    assert.equal(stopIn(await slow.done), "cancelled");
    await acpx(...agent(), "sessions", "close");
    await assertQuiet();
  });

  // acpx cannot steer; a prompt sent during a turn waits in acpx itself.
  it("stays calm at an agent that stays, and runs the prompt that waited once it is cancelled", async () => {
    const play = agent({ play: "steer" });
    await acpx(...play, "sessions", "new");
    const stays = start(["--ttl", "1", ...play, "prompt", "stay"]);
    const ready = new Promise((seen) => {
      stays.child.stdout.on("data", () => stays.printed.out.includes('"Ready."') && seen());
    });
    await Promise.race([ready, stays.done]);
    const next = acpx("--ttl", "1", ...play, "prompt", "hello");
    await acpx(...play, "cancel");
    assert.equal(stopIn(await stays.done), "cancelled");
    assert.equal(stopIn(await next), "end_turn");
    await acpx(...play, "sessions", "close");
    const { received } = await wire();
    const methods = new Set(received.flatMap((m) => m.method ?? []));
    assert.deepEqual([...methods], ["session/update"], "nothing that plain ACP has no word for");
    assert.deepEqual(received.flatMap((m) => m.result?.stopReason ?? []), ["cancelled", "end_turn"]);
    await assertQuiet();
  });

  it("lists the agent's sessions", async () => {
    const messages = await acpx(...agent(), "exec", "hello");
    const session = messages.find((m) => m.result?.sessionId).result.sessionId;
    const [{ source, sessions }] = await acpx(...agent(), "sessions", "list", "--filter-cwd", cwd);
    assert.equal(source, "agent");
    assert.deepEqual(sessions.map((s) => [s.sessionId, s.cwd]), [[session, cwd]]);
    await assertQuiet();
  });

  it("loads a session in a new process, which replays what was seen live", async () => {
    const live = await acpx("--approve-all", ...agent(), "exec", "hello");
    const session = live.find((m) => m.result?.sessionId).result.sessionId;
    await rm(log);
    await acpx(...agent({ hideResume: true }), "sessions", "new", "--resume-session", session);
    const { sent, received } = await wire();
    const load = sent.find((m) => m.method === "session/load");
    assert.equal(load.params.sessionId, session);
    assert.ok(received.find((m) => m.id === load.id).result, "session/load was answered");
    assert.deepEqual(story(updatesIn(received)), story(updatesIn(live)));
    assert.ok(story(updatesIn(live)).length >= 5);
    await assertQuiet();
  });

  it("stays calm at activity plain ACP has no word for", async () => {
    const messages = await acpx(...agent(), "exec", "activity");
    assert.equal(stopIn(messages), "end_turn");
    assert.match(textIn(updatesIn(messages)), /All quiet\./);
    await assertQuiet();
  });

  it("goes on the tour of everything as a host we know by name: plain ACP, nothing unknown", async () => {
    const tour = start([...agent({ play: "tour" }), "exec", "/everything"]);
    const messages = await tour.done;
    assert.equal(tour.printed.err, "", "acpx wrote to stderr");
    assert.equal(stopIn(messages), "end_turn");
    assert.match(textIn(updatesIn(messages)), /The bucket no longer leaks\./);
    const { received } = await wire();
    const methods = new Set(received.flatMap((m) => m.method ?? []));
    assert.deepEqual([...methods], ["session/update"]);
    const kinds = new Set(updatesIn(received).map((u) => u.sessionUpdate));
    assert.deepEqual([...kinds].sort(), [
      "agent_message_chunk", "agent_thought_chunk", "available_commands_update", "plan", "session_info_update",
      "tool_call", "tool_call_update", "usage_update", "user_message_chunk",
    ]);
    await assertQuiet();
  });
});
