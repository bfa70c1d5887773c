// The TypeScript SDK as a plain client of harn-serve. It sends no name, so it runs with
// `--profile acp`, as the documentation recommends for such clients.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { story, textOf, withHost } from "./host.mjs";

describe("TypeScript SDK", () => {
  let root, cwd, states;
  before(async () => {
    root = await mkdtemp(path.join(tmpdir(), "harn-peer-ts-"));
    cwd = root;
    states = 0;
  });
  after(() => rm(root, { recursive: true, force: true }));

  const freshState = () => path.join(root, `state-${++states}`);
  const withSession = (use) =>
    withHost({ state: freshState(), profile: "acp" }, async (host) => {
      await host.initialize();
      await use(host, await host.newSession(cwd));
    });

  it("initializes", () =>
    withHost({ state: freshState(), profile: "acp" }, async (host) => {
      const answer = await host.initialize();
      assert.equal(answer.protocolVersion, 1);
      assert.equal(answer.agentInfo.name, "peer");
      assert.equal(answer.agentCapabilities.loadSession, true);
      assert.ok(answer.agentCapabilities.sessionCapabilities.list, "session/list is advertised");
    }));

  it("sees a thought, a plan, a tool call and the words of a turn", () =>
    withSession(async (host, session) => {
      const { stopReason } = await host.prompt(session, "hello");
      assert.equal(stopReason, "end_turn");
      assert.equal(textOf(host.updates, "agent_thought_chunk"), "Where is it?");
      assert.equal(textOf(host.updates, "agent_message_chunk"), "There are three lines.");
      const plan = host.updates.find((u) => u.sessionUpdate === "plan");
      assert.deepEqual(plan.entries.map((e) => e.content), ["Look at the file", "Answer"]);
      const call = host.updates.find((u) => u.sessionUpdate === "tool_call");
      assert.deepEqual([call.toolCallId, call.title, call.kind], ["look-1", "Look at a.rs", "read"]);
      const end = host.updates.findLast((u) => u.sessionUpdate === "tool_call_update");
      assert.deepEqual([end.toolCallId, end.status], ["look-1", "completed"]);
    }));

  for (const [choice, words, status] of [
    ["allow_once", "It is written.", "completed"],
    ["reject_once", "Then I leave it.", "failed"],
  ]) {
    it(`is asked for a permission and answers ${choice}`, () =>
      withSession(async (host, session) => {
        host.choice = choice;
        const { stopReason } = await host.prompt(session, "perm please");
        assert.equal(stopReason, "end_turn");
        assert.equal(host.asked.length, 1);
        const [{ sessionId, toolCall, options }] = host.asked;
        assert.equal(sessionId, session);
        assert.deepEqual([toolCall.title, toolCall.kind], ["Write notes.txt", "edit"]);
        assert.deepEqual(toolCall.rawInput, { path: "notes.txt" });
        // One option per kind: this client does not declare `_meta.harn`.
        assert.deepEqual(options.map((o) => [o.optionId, o.kind]), [
          ["allow_once", "allow_once"],
          ["allow_session", "allow_always"],
          ["reject_once", "reject_once"],
          ["reject_always", "reject_always"],
        ]);
        assert.equal(textOf(host.updates, "agent_message_chunk"), `May I write a note? ${words}`);
        const end = host.updates.findLast((u) => u.sessionUpdate === "tool_call_update");
        assert.deepEqual([end.toolCallId, end.status], [toolCall.toolCallId, status]);
      }));
  }

  it("cancels in the middle of a prompt, and the next prompt runs", () =>
    withSession(async (host, session) => {
      const working = host.next("the turn to begin", (u) => u.sessionUpdate === "agent_message_chunk");
      const slow = host.prompt(session, "slow");
      await working;
      await host.cancel(session);
      assert.equal((await slow).stopReason, "cancelled");
      assert.equal((await host.prompt(session, "hello")).stopReason, "end_turn");
    }));

  it("lists the sessions of a folder", () =>
    withSession(async (host, session) => {
      await host.prompt(session, "hello");
      const [found, ...others] = await host.list(cwd);
      assert.deepEqual([found.sessionId, found.cwd], [session, cwd]);
      assert.deepEqual(others, []);
      assert.deepEqual(await host.list(path.join(cwd, "elsewhere")), []);
    }));

  it("loads a session in a new process and sees what it saw live", async () => {
    const state = freshState();
    const prompts = ["hello", "perm one", "perm two", "slow"];
    let session, live;
    await withHost({ state, profile: "acp" }, async (host) => {
      await host.initialize();
      session = await host.newSession(cwd);
      await host.prompt(session, prompts[0]);
      host.choice = "allow_once";
      await host.prompt(session, prompts[1]);
      host.choice = "reject_once";
      await host.prompt(session, prompts[2]);
      const working = host.next("the turn to begin", (u) => u.content?.text === "working");
      const slow = host.prompt(session, prompts[3]);
      await working;
      await host.cancel(session);
      await slow;
      live = story(host.updates);
    });
    await withHost({ state, profile: "acp" }, async (host) => {
      await host.initialize();
      await host.load(session, cwd);
      assert.deepEqual(story(host.updates), live);
      assert.ok(live.length >= 12, `a story of ${live.length} updates is too short`);
      const said = host.updates.filter((u) => u.sessionUpdate === "user_message_chunk");
      assert.deepEqual(said.map((u) => u.content.text), prompts);
      assert.deepEqual(host.asked, [], "a settled question is not asked again");
    });
  });

  it("stays calm at activity that plain ACP has no word for", () =>
    withSession(async (host, session) => {
      assert.equal((await host.prompt(session, "activity")).stopReason, "end_turn");
      assert.match(textOf(host.updates, "agent_message_chunk"), /All quiet\./);
    }));
});
