// Tests how the TypeScript SDK handles everything beyond ACP, in each profile. The tests also read
// the wire, to compare what the agent sent with what the host receives.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { textOf, withHost } from "./host.mjs";

/** Plays the turn of the tour that has everything and closes the session. */
async function everything(host, cwd) {
  const { agentCapabilities } = await host.initialize();
  const session = await host.newSession(cwd);
  assert.equal((await host.prompt(session, "/everything")).stopReason, "end_turn");
  // Only the runtime reports the outcome of a control, so no scenario has it.
  await host.cancel(session);
  await host.close(session);
  const harn = agentCapabilities._meta.harn;
  return { harn, names: harn.sessionUpdateExtensions ?? [] };
}

const paramsOf = (host, method) => host.wire.filter((m) => m.method === method).map((m) => m.params);
const sent = (host) => paramsOf(host, "session/update").map((params) => params.update);
const kinds = (updates) => new Set(updates.map((update) => update.sessionUpdate));

const pinned = async (name) => {
  const file = new URL(`../../fixtures/acp/${name}.json`, import.meta.url);
  return JSON.parse(await readFile(file, "utf8")).params.update._meta.harn;
};

/** The extensions in the carrier: `_meta.harn` of a `session_info_update`. */
const carried = (updates) =>
  updates.filter((u) => u.sessionUpdate === "session_info_update" && u._meta?.harn).map((u) => u._meta.harn);

describe("TypeScript SDK, extensions", () => {
  let root, states = 0;
  before(async () => (root = await mkdtemp(path.join(tmpdir(), "harn-peer-ts-"))));
  after(() => rm(root, { recursive: true, force: true }));
  const play = (offer, look) =>
    withHost({ state: path.join(root, `state-${++states}`), ...offer, play: "tour" }, async (host) =>
      look(host, await everything(host, root)));

  it("meta: every advertised extension reaches the host's typed handler, whole", () =>
    play({ wish: "meta" }, async (host, { harn, names }) => {
      const received = carried(host.updates);
      assert.deepEqual(received, carried(sent(host)), "what was handed over is not what was sent");
      const seen = new Set(received.map((fields) => fields.sessionUpdate));
      if (kinds(host.updates).has("available_commands_update")) seen.add("available_commands_update");
      assert.deepEqual([...seen].sort(), names);
      assert.ok(names.length >= 19, `only ${names.length} are advertised`);

      // The tour reports the pinned progress; the host receives the same as in the fixture.
      assert.deepEqual(received.find((fields) => fields.data?.unit === "files"), await pinned("progress.meta"));
      const end = received.findLast((fields) => fields.sessionUpdate === "worker_update" && fields.terminal);
      for (const field of ["workerId", "workerName", "workerTask", "workerMode", "event", "status"]) {
        assert.equal(typeof end[field], "string", field);
      }

      const method = harn.extensionMethods["_harn/agentEvent"];
      assert.deepEqual(host.events, paramsOf(host, "_harn/agentEvent"));
      // The runtime sends `tools_changed` when tools change; no tour changes tools.
      const told = (kinds) => [...new Set(kinds)].filter((kind) => kind !== "tools_changed").sort();
      assert.deepEqual(told(host.events.map((event) => event.kind)), told(method.kinds));
    }));

  it("harn: the SDK keeps the extensions from its host, and complains", () =>
    play({ wish: "harn" }, (host, { names }) => {
      // The contract and ACP v2 define `user_message`: no client of v1 knows it.
      const unknown = [...names.filter((name) => name !== "available_commands_update"), "user_message"];
      for (const name of unknown) assert.ok(kinds(sent(host)).has(name), `${name} was not sent`);
      const delivered = kinds(host.updates);
      assert.deepEqual(unknown.filter((name) => delivered.has(name)), []);
      assert.deepEqual(carried(host.updates), []);
      const dropped = sent(host).filter((update) => unknown.includes(update.sessionUpdate));
      assert.equal(host.takeComplaints().length, dropped.length, "one complaint for each it dropped");
      // The SDK delivers our own notifications, because the host registered for them.
      assert.deepEqual(host.events, paramsOf(host, "_harn/agentEvent"));
    }));

  it("acp: nothing unknown is sent, and a plain host still sees that something happens", () =>
    play({ profile: "acp" }, (host, { names }) => {
      assert.deepEqual(names, []);
      assert.deepEqual(host.updates.length, sent(host).length, "every update was delivered");
      assert.deepEqual([carried(sent(host)), paramsOf(host, "_harn/agentEvent"), host.events], [[], [], []]);
      const thoughts = textOf(host.updates, "agent_thought_chunk");
      for (const word of ["Indexing the workspace", "rust-review", "Is a burst allowed?", "Reviewer"]) {
        assert.ok(thoughts.includes(word), `${word} is nowhere in: ${thoughts}`);
      }
      const { toolCallId } = host.updates.find((u) => u.title?.startsWith("tester: ") && u.status === "in_progress");
      const worker = host.updates.filter((u) => u.toolCallId === toolCallId);
      assert.equal(worker[0].sessionUpdate, "tool_call");
      assert.deepEqual([worker.at(-1).sessionUpdate, worker.at(-1).status], ["tool_call_update", "completed"]);
    }));
});
