// Each answer to a permission request through the TypeScript SDK, and how long it is valid. The agent
// really writes a file, so that the effect of the answer is visible on the disk.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { textOf, withHost } from "./host.mjs";

const EXTRA = ["approvalRequest", "declaredPaths", "mutation", "policyDecision"];
const scopes = { allow_once: "once", allow_session: "session", allow_always: "always", reject_once: "once", reject_always: "always" };

describe("TypeScript SDK, permissions", () => {
  let root, cwd, state, number = 0;
  before(async () => (root = await realpath(await mkdtemp(path.join(tmpdir(), "harn-peer-ts-")))));
  after(() => rm(root, { recursive: true, force: true }));
  beforeEach(async () => {
    const own = path.join(root, `t${++number}`);
    [cwd, state] = [path.join(own, "project"), path.join(own, "state")];
    await mkdir(cwd, { recursive: true });
  });

  /** Runs `use` against its own process, with the same state directory as the test's other processes. */
  const inProcess = (use, wish = "acp") =>
    withHost({ state, wish, play: "person" }, async (host) => {
      await host.initialize();
      await use(host);
    });

  /** Prompts for the file; returns whether it was written, and how often the agent asked. */
  async function write(host, session) {
    const notes = path.join(cwd, "notes.txt");
    await rm(notes, { force: true });
    const before = host.asked.length;
    const { stopReason } = await host.prompt(session, "write");
    assert.equal(stopReason, "end_turn");
    const end = host.updates.findLast((u) => u.sessionUpdate === "tool_call_update");
    const written = existsSync(notes);
    assert.equal(end.status, written ? "completed" : "failed");
    return { written, asked: host.asked.length - before };
  }

  // For each option: the outcome of the call, and whether the agent asks about the next one like it.
  for (const [choice, written, again] of [
    ["allow_once", true, { inSession: 1, inOther: 1, inNext: 1 }],
    ["allow_session", true, { inSession: 0, inOther: 1, inNext: 1 }],
    ["allow_always", true, { inSession: 0, inOther: 0, inNext: 0 }],
    ["reject_once", false, { inSession: 1, inOther: 1, inNext: 1 }],
    ["reject_always", false, { inSession: 0, inOther: 0, inNext: 0 }],
  ]) {
    it(`${choice} holds as long as it says`, async () => {
      await inProcess(async (host) => {
        host.choice = choice;
        const session = await host.newSession(cwd);
        assert.deepEqual(await write(host, session), { written, asked: 1 });
        assert.deepEqual(await write(host, session), { written, asked: again.inSession });
        assert.deepEqual(await write(host, await host.newSession(cwd)), { written, asked: again.inOther });
      });
      await inProcess(async (host) => {
        host.choice = choice;
        assert.deepEqual(await write(host, await host.newSession(cwd)), { written, asked: again.inNext });
      });
    });
  }

  it("what is remembered is shown and revoked in the chat", () =>
    inProcess(async (host) => {
      host.choice = "allow_always";
      const session = await host.newSession(cwd);
      await write(host, session);
      const commands = host.updates.findLast((u) => u.sessionUpdate === "available_commands_update");
      assert.ok(commands.availableCommands.some(({ name }) => name === "permissions"));
      await host.prompt(session, "/permissions");
      const [id] = textOf(host.updates, "agent_message_chunk").match(/g-[0-9a-f]{16}/);
      await host.prompt(session, `/permissions revoke ${id}`);
      assert.deepEqual(await write(host, session), { written: true, asked: 1 });
    }));

  it("cancelled cancels the turn, and the next prompt runs", () =>
    inProcess(async (host) => {
      const session = await host.newSession(cwd);
      host.choice = undefined;
      assert.equal((await host.prompt(session, "write")).stopReason, "cancelled");
      assert.equal(existsSync(path.join(cwd, "notes.txt")), false);
      host.choice = "allow_once";
      assert.deepEqual(await write(host, session), { written: true, asked: 1 });
    }));

  for (const wish of ["acp", "meta", "harn"]) {
    // The log is empty at the end of each test, so the SDK accepts the members beside ACP's own.
    it(`${wish}: the request reaches the host with its receipt, its deadline and the change`, () =>
      inProcess(async (host) => {
        await write(host, await host.newSession(cwd));
        const [sent] = host.wire.filter((m) => m.method === "session/request_permission").map((m) => m.params);
        assert.deepEqual(EXTRA.filter((name) => name in sent), wish === "harn" ? EXTRA : []);

        const [{ toolCall, options, _meta }] = host.asked;
        const { harn } = _meta;
        assert.deepEqual(harn, sent._meta.harn, "what was handed over is not what was sent");
        assert.deepEqual(EXTRA.filter((name) => name in harn), EXTRA);
        assert.deepEqual(toolCall.content, [
          { type: "diff", path: path.join(cwd, "notes.txt"), newText: "Seen by a peer.\n" },
        ]);
        assert.deepEqual(harn.declaredPaths, ["notes.txt"]);
        assert.equal(harn.policyDecision.action, "ask");
        assert.ok(Date.parse(harn.deadline) > Date.parse(harn.approvalRequest.requested_at));
        assert.deepEqual(Object.fromEntries(harn.options.map((o) => [o.optionId, o.scope])), scopes);
        // Labels name what the answer covers.
        for (const { optionId, name } of options) {
          if (scopes[optionId] !== "once") assert.match(name, /notes\.txt/);
        }
      }, wish));
  }
});
