// A minimal client in Node against `harn-serve threads`: a line is a message, and a fold keeps the notifications.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, test } from "node:test";
import { fileURLToPath } from "node:url";

const SCENARIO = fileURLToPath(new URL("../wires.yaml", import.meta.url));
// A deadline, so that a hang fails the test: nothing here measures time.
const PATIENCE_MS = 60_000;

class Client extends EventEmitter {
  #child;
  #ids = 0;
  #stderr = "";
  told = [];

  constructor(cwd, state) {
    super();
    assert.ok(process.env.HARN_SERVE, "HARN_SERVE must name the binary; peers/run sets it");
    const args = ["threads", "--cwd", cwd, "--state-dir", state, "--engine", `script:${SCENARIO}`];
    this.#child = spawn(process.env.HARN_SERVE, args);
    this.#child.stderr.setEncoding("utf8").on("data", (text) => (this.#stderr += text));
    createInterface({ input: this.#child.stdout }).on("line", (line) => {
      const { id, method, params, result, error } = JSON.parse(line);
      if (!method) return this.emit(`answer ${id}`, { result, error });
      assert.equal(params.notification, method);
      this.told.push(params);
      this.emit("told");
    });
  }

  async ask(method, params) {
    const id = ++this.#ids;
    const answer = once(this, `answer ${id}`, { signal: AbortSignal.timeout(PATIENCE_MS) });
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    const [{ result, error }] = await answer;
    if (error) throw Object.assign(new Error(error.message), { code: error.code });
    return result;
  }

  /** Waits for a notification that `fits`. */
  async until(fits) {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    while (!this.told.some(fits)) await once(this, "told", { signal });
    return this.told.find(fits);
  }

  async start(threadId, text) {
    const { turnId } = await this.ask("turn.start", { threadId, input: [{ type: "text", text }] });
    return turnId;
  }

  end(turnId) {
    return this.until((told) => /^turn\.(completed|error)$/.test(told.notification) && told.turnId === turnId);
  }

  async close() {
    const ended = once(this.#child, "close", { signal: AbortSignal.timeout(PATIENCE_MS) });
    this.#child.stdin.end();
    assert.deepEqual(await ended, [0, null], this.#stderr);
    assert.equal(this.#stderr, "");
  }

  kill() {
    this.#child.kill("SIGKILL");
  }
}

/** Turns and items, as a client shows them. */
function fold(events) {
  const turns = new Map();
  const items = new Map();
  for (const { notification, turnId, itemId, item, delta = "", data = {}, ...rest } of events) {
    if (notification === "item.started") {
      items.set(item.itemId, { type: item.type, data: item.data, text: "", done: false });
    } else if (notification === "item.delta") {
      const grown = items.get(itemId);
      items.set(itemId, { ...grown, text: grown.text + delta, data: { ...grown.data, ...data } });
    } else if (notification === "item.completed") {
      const last = items.get(itemId);
      items.set(itemId, { ...last, done: true, data: { ...last.data, ...data } });
    } else if (/^turn\./.test(notification)) {
      turns.set(turnId, { status: rest.status, stopReason: rest.stopReason, error: rest.error });
    }
  }
  return { turns, items };
}

let root, client;
const open = () => (client = new Client(root, path.join(root, "state")));

beforeEach(async () => {
  root = await realpath(await mkdtemp(path.join(os.tmpdir(), "harn-peer-threads-")));
  open();
});
afterEach(async () => {
  client.kill();
  await rm(root, { recursive: true });
});

const replayed = async (threadId) => fold((await client.ask("thread.get", { threadId })).events);

test("a turn streams, and is the same when it is replayed, also after a restart", async () => {
  assert.equal((await client.ask("initialize", { clientInfo: { name: "harn-peer" } })).version, "1.0.0");
  const { thread } = await client.ask("thread.create", { title: "Lines" });
  const end = await client.end(await client.start(thread.threadId, "how many lines?"));
  assert.equal(end.stopReason, "end_turn");
  const live = fold(client.told);
  const said = [...live.items.values()].filter(({ type }) => type === "assistant_message");
  assert.deepEqual(said.map(({ text }) => text), ["Where is it?", "There are **three** lines."]);
  assert.deepEqual(await replayed(thread.threadId), live);
  await client.close();
  open();
  assert.deepEqual(await replayed(thread.threadId), live);
  const { threads } = await client.ask("thread.list");
  assert.deepEqual(threads.map(({ title }) => title), ["Lines"]);
  await client.close();
});

test("each decision", async () => {
  for (const decision of ["once", "reject", "always"]) {
    const { thread } = await client.ask("thread.create", {});
    const notes = path.join(root, "notes.txt");
    await rm(notes, { force: true });
    const turnId = await client.start(thread.threadId, "write it down");
    const asked = await client.until((told) => told.notification === "approval.requested" && told.turnId === turnId);
    const { requestId } = asked;
    assert.deepEqual(await client.ask("approval.respond", { requestId, decision }), { ok: true });
    assert.equal((await client.end(turnId)).status, "completed");
    assert.equal(existsSync(notes), decision !== "reject");
    await assert.rejects(client.ask("approval.respond", { requestId, decision }), { code: -32004 });
    const { items } = await replayed(thread.threadId);
    assert.equal(items.get(asked.itemId).data.reply, decision);
  }
  await client.close();
});

test("a cancelled turn ends, and the thread is free", async () => {
  const { thread } = await client.ask("thread.create", {});
  const turnId = await client.start(thread.threadId, "slow");
  await client.until((told) => told.delta === "working");
  await assert.rejects(client.start(thread.threadId, "another"), { code: -32002 });
  await client.ask("turn.cancel", { threadId: thread.threadId });
  assert.equal((await client.end(turnId)).status, "cancelled");
  assert.equal((await client.end(await client.start(thread.threadId, "how many?"))).status, "completed");
  assert.deepEqual(await replayed(thread.threadId), fold(client.told));
  await client.close();
});
