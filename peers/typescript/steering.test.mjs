// Steering through the TypeScript SDK: the messages of a host to a running turn, and the updates it gets.
// The turns of steer.yaml wait until the client answers, so nothing here depends on timing.

import assert from "node:assert/strict";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { textOf, withHost } from "./host.mjs";

const OWNER = { clientId: "legacy-acp-client", role: "host_owner", source: "acp" };

/** The updates of the runtime about a delivery, as far as the SDK knows them. */
const delivered = (host) =>
  host.updates
    .filter((u) => u.sessionUpdate === "user_message_chunk")
    .map(({ messageId, content }) => [messageId, content.text]);

/** The extensions of one name in the carrier. */
const carried = (host, name) =>
  host.updates.map((u) => u._meta?.harn).filter((fields) => fields?.sessionUpdate === name);

/** How often a prompt was answered on the wire. */
const answers = (host) => host.wire.filter((m) => m.result?.stopReason).map((m) => m.result.stopReason);

/** A turn that has begun and waits for a person: `release` lets it continue, `ended` is its answer. */
async function begin(host, session) {
  const asked = host.nextOf("session/request_permission", "the question");
  let release;
  host.choice = new Promise((done) => (release = () => done("allow_once")));
  const ended = host.prompt(session, "work");
  await asked;
  return { release, ended };
}

const refusal = (code, data) => (error) => {
  assert.deepEqual({ code: error.code, data: error.data }, { code, data: { ...data, details: error.message } });
  return true;
};

describe("TypeScript SDK, steering", () => {
  let root, cwd, number = 0;
  before(async () => (root = await realpath(await mkdtemp(path.join(tmpdir(), "harn-peer-ts-")))));
  after(() => rm(root, { recursive: true, force: true }));
  beforeEach(async () => {
    cwd = path.join(root, `t${++number}`, "project");
    await mkdir(cwd, { recursive: true });
  });

  /** Runs `use` in a session, with the methods of steering at hand. */
  const inSession = (use, { wish = "meta", play = "steer" } = {}) =>
    withHost({ state: path.join(root, `t${number}`, "state"), wish, play }, async (host) => {
      await host.initialize();
      const sessionId = await host.newSession(cwd);
      const call = (method, params = {}) => host.extension(method, { sessionId, ...params });
      const inject = (mode, content) => call("session/inject", { mode, content });
      await use(host, sessionId, { call, inject });
    });

  it("initialize: what can be steered reaches the host", () =>
    withHost({ state: path.join(cwd, "state"), wish: "acp", play: "steer" }, async (host) => {
      const hello = await host.initialize();
      assert.deepEqual(hello._meta.steering, { supported: true });
      // ACP has no such capability; this SDK keeps it, others remove it.
      const { inject, remind } = hello.agentCapabilities.session;
      assert.deepEqual([inject.modes, remind.modes[0]], [["queue", "steer"], "interrupt_immediate"]);
    }));

  for (const wish of ["acp", "meta", "harn"]) {
    it(`${wish}: a steer is delivered at the seam, a message for the end as another round of the prompt`, () =>
      inSession(async (host, session, { inject }) => {
        const { release, ended } = await begin(host, session);
        const last = await inject("queue", [{ type: "text", text: "Then c.txt." }]);
        const steer = await inject("steer", "Mind b.txt.");
        assert.deepEqual(
          [last, steer].map(({ status, _meta }) => [status, _meta.harn]),
          [["accepted", { actor: OWNER, pendingCount: 1 }], ["accepted", { actor: OWNER, pendingCount: 2 }]],
        );
        assert.deepEqual(delivered(host), [], "nothing is delivered while a person is asked");
        release();
        assert.equal((await ended).stopReason, "end_turn");
        assert.deepEqual(answers(host), ["end_turn"], "one prompt, one answer");

        const said = textOf(host.updates, "agent_message_chunk");
        assert.match(said, /^working.*message: Mind b\.txt\..*End of the work\.Answered\.$/s);
        const messages = [[steer.messageId, "Mind b.txt."], [last.messageId, "Then c.txt."]];
        if (wish !== "harn") {
          assert.deepEqual(delivered(host), messages);
          return;
        }
        // The contract's own update is on the wire with the same ids; the SDK does not deliver it to the host.
        const sent = host.wire.map((m) => m.params?.update).filter((u) => u?.sessionUpdate === "user_message");
        assert.deepEqual(sent.map((u) => [u.messageId, u.content[0].text]), messages);
        assert.deepEqual(delivered(host), []);
        assert.equal(host.takeComplaints().length, sent.length);
      }, { wish }));
  }

  it("what waits is listed, said differently and taken back", () =>
    inSession(async (host, session, { call, inject }) => {
      const { release, ended } = await begin(host, session);
      const [first, second, third] = [await inject("steer", "a"), await inject("queue", "b"), await inject("steer", "c")];
      const { messageId } = first;
      assert.deepEqual(
        await call("session/replace_inject", { messageId, content: "A" }),
        { messageId, status: "replaced" },
      );
      const revoke = { messageId: second.messageId };
      assert.equal((await call("session/revoke_inject", revoke)).status, "revoked");
      assert.equal((await call("session/revoke_inject", revoke)).status, "already_revoked");

      const { pendingCount, injections } = await call("session/pending_injections");
      assert.equal(pendingCount, 2);
      assert.deepEqual(
        injections.map(({ id, kind, mode, position, content }) => [id, kind, mode, position, content[0].text]),
        [[messageId, "user", "finish_step", 0, "A"], [third.messageId, "user", "finish_step", 1, "c"]],
      );
      release();
      await ended;
      assert.deepEqual(delivered(host), [[messageId, "A"], [third.messageId, "c"]]);
      assert.equal((await call("session/pending_injections")).pendingCount, 0);
      // The outcomes of all controls, as every host gets them.
      const outcomes = host.events.filter(({ kind }) => kind === "control_outcome");
      assert.deepEqual(outcomes.map(({ outcome, status }) => `${outcome} ${status}`), [
        "accepted accepted", "accepted accepted", "accepted accepted",
        "replaced accepted", "revoked accepted", "already_revoked idempotent",
      ]);
    }));

  it("who comes too late is told why, in the error's data", () =>
    inSession(async (host, session, { call, inject }) => {
      await assert.rejects(inject("steer", "early"), refusal(-32004, { reason: "no_active_prompt", sessionId: session }));
      const { release, ended } = await begin(host, session);
      const { messageId } = await inject("steer", "in time");
      const { messageId: gone } = await inject("steer", "no");
      await call("session/revoke_inject", { messageId: gone });
      const others = { _meta: { harn: { actor: { clientId: "somebody", role: "guest" } } } };
      await assert.rejects(call("session/revoke_inject", { messageId, ...others }), ({ code, data }) => {
        assert.deepEqual([code, data.reason, data.owner], [-32602, "not_owner_or_not_authorized", OWNER]);
        return true;
      });
      await assert.rejects(
        call("session/replace_inject", { messageId: gone, content: "yes" }),
        refusal(-32602, { reason: "already_revoked", messageId: gone }),
      );
      await assert.rejects(
        call("session/revoke_inject", { messageId: "msg_never" }),
        refusal(-32602, { reason: "unknown_message_id", messageId: "msg_never" }),
      );
      release();
      await ended;
      await assert.rejects(
        call("session/revoke_inject", { messageId }),
        refusal(-32602, { reason: "already_delivered", messageId }),
      );
    }));

  it("_session/steering: injected, promptRequired, and a turn that no request waits for", () =>
    inSession(async (host, session, { call }) => {
      const steer = (text, idleBehavior) =>
        call("_session/steering", {
          prompt: [{ type: "text", text }],
          ...(idleBehavior && { _meta: { steering: { idleBehavior } } }),
        });
      const { release, ended } = await begin(host, session);
      assert.deepEqual(await steer("Mind b.txt.", "promptRequired"), { outcome: "injected" });
      release();
      await ended;
      // A plain client shows its own message, so the agent does not repeat it.
      assert.deepEqual(delivered(host), []);

      const seen = host.updates.length;
      assert.deepEqual(await steer("Too late.", "promptRequired"), { outcome: "promptRequired", reason: "noRunningTurn" });
      await assert.rejects(steer("Hm.", "wait"), ({ code }) => code === -32602);
      host.faults = ["wrong-extension"];
      assert.equal(host.updates.length, seen, "nothing was done");

      const said = host.next("the turn of its own", (u) => u.content?.text === "Answered.");
      assert.deepEqual(await steer("Now."), { outcome: "startedNewTurn" });
      await said;
      assert.equal(answers(host).length, 1, "only the prompt was answered");
    }, { wish: "acp" }));

  it("reminders: as a request, as a notification, and what is none", () =>
    inSession(async (host, session, { call }) => {
      const { release, ended } = await begin(host, session);
      const asked = { mode: "finish_step", id: "tests", body: "Run the tests.", tags: ["tests"], ttl_turns: 2 };
      assert.deepEqual(await call("session/remind", asked), { reminderId: "tests" });
      await host.agent.notify("session/remind", { sessionId: session, mode: "finish_step", body: "Be brief." });
      await assert.rejects(call("session/remind", { body: "x", urgency: 3 }), ({ code, data }) => {
        assert.deepEqual([code, data.reason, data.code], [-32602, "invalid_reminder", "HARN-RMD-001"]);
        return true;
      });
      host.faults = ["unknown-member"];
      const { injections } = await call("session/pending_injections");
      assert.deepEqual(injections.map(({ kind, body }) => [kind, body]), [
        ["reminder", "Run the tests."],
        ["reminder", "Be brief."],
      ]);
      release();
      assert.equal((await ended).stopReason, "end_turn");
      assert.match(textOf(host.updates, "agent_message_chunk"), /reminder: Run the tests\..*reminder: Be brief\./s);
      const emitted = carried(host, "reminder_emitted").map(({ reminder }) => reminder);
      assert.deepEqual(emitted.map(({ body, source }) => [body, source]), [
        ["Run the tests.", "bridge"],
        ["Be brief.", "bridge"],
      ]);
      assert.deepEqual([emitted[0].reminderId, emitted[0].tags], ["tests", ["tests"]]);
      assert.deepEqual(delivered(host), [], "nobody said it");
    }));

  it("an agent that stays: signs of life, a message, a resume, and a cancel that is answered", () =>
    inSession(async (host, session, { call, inject }) => {
      const isSign = (it) => it.kind === "agent_idle";
      const waits = (iteration) =>
        host.nextOf("_harn/agentEvent", `wait ${iteration}`, (it) => isSign(it) && it.iteration === iteration);
      let waiting = waits(0);
      const stays = host.prompt(session, "stay");
      await waiting;
      const sign = { sessionId: session, kind: "agent_idle", iteration: 0, backoffMs: 100 };
      assert.deepEqual(host.events.find(isSign), sign);

      waiting = waits(1);
      const { messageId } = await inject("queue", "Look at c.txt.");
      await waiting;
      assert.deepEqual(delivered(host), [[messageId, "Look at c.txt."]]);

      waiting = waits(2);
      await host.agent.notify("agent/resume", { sessionId: session });
      await waiting;
      assert.equal(textOf(host.updates, "agent_message_chunk").match(/Awake\./g).length, 2);

      assert.equal((await call("session/cancel")).status, "cancelled");
      assert.equal((await stays).stopReason, "cancelled");
      assert.deepEqual(host.events, host.wire.filter((m) => m.method === "_harn/agentEvent").map((m) => m.params));
      assert.deepEqual(host.wire.filter((m) => m.method === "agent/idle"), []);
    }));

  it("what waits when a turn is cancelled is delivered with the next prompt", () =>
    inSession(async (host, session, { call, inject }) => {
      const { release, ended } = await begin(host, session);
      const { messageId } = await inject("steer", "Mind b.txt.");
      await host.cancel(session);
      assert.equal((await ended).stopReason, "cancelled");
      release();
      assert.deepEqual(delivered(host), []);
      assert.equal((await call("session/pending_injections")).pendingCount, 1);

      const next = await begin(host, session);
      assert.deepEqual(host.asked.map(({ _meta }) => _meta.harn.pendingCount), [undefined, 1]);
      next.release();
      assert.equal((await next.ended).stopReason, "end_turn");
      assert.deepEqual(delivered(host), [[messageId, "Mind b.txt."]]);
    }, { wish: "acp" }));

  it("a new process replays what was delivered where it was, and delivers what still waits", async () => {
    let session, live, waits;
    await inSession(async (host, sessionId, { inject }) => {
      session = sessionId;
      const first = await begin(host, session);
      await inject("steer", "Mind b.txt.");
      await inject("queue", "Then c.txt.");
      first.release();
      await first.ended;
      const second = await begin(host, session);
      waits = (await inject("queue", "And d.txt.")).messageId;
      await host.cancel(session);
      await second.ended;
      second.release();
      await host.list(cwd);
      live = host.updates;
    }, { wish: "acp" });
    await withHost({ state: path.join(root, `t${number}`, "state"), wish: "acp", play: "steer" }, async (host) => {
      await host.initialize();
      await host.load(session, cwd);
      const words = (updates) =>
        updates
          .filter((u) => /^(agent|user)_message_chunk$/.test(u.sessionUpdate))
          .map((u) => [u.messageId, u.content.text]);
      // Only a replay has the prompts of the user.
      const replayed = words(host.updates).filter(([, text]) => text !== "work");
      assert.deepEqual(replayed, words(live));
      const { injections } = await host.extension("session/pending_injections", { sessionId: session });
      assert.deepEqual(injections.map(({ messageId }) => messageId), [waits]);
      await host.prompt(session, "hello");
      assert.deepEqual(delivered(host).at(-1), [waits, "And d.txt."]);
    });
  });

  it("a reminder that interrupts takes the question back, and the turn goes on", () =>
    inSession(async (host, session, { call }) => {
      const { release, ended } = await begin(host, session);
      await call("session/remind", { mode: "interrupt_immediate", body: "Stop writing." });
      assert.equal((await ended).stopReason, "end_turn");
      release(); // A late answer has no effect.
      await host.list(cwd);
      assert.deepEqual(host.withdrawn, [host.asked[0].toolCall.toolCallId]);
      const end = host.updates.findLast((u) => u.sessionUpdate === "tool_call_update");
      assert.equal(end.status, "failed");
      assert.match(textOf(host.updates, "agent_message_chunk"), /reminder: Stop writing\..*End of the work\.$/s);
    }, { wish: "acp" }));

  it("an abort signal cancels a prompt that waits for its turn, and no other", () =>
    inSession(async (host, session) => {
      const working = host.next("the turn to begin", (u) => u.content?.text === "working");
      const slow = host.prompt(session, "slow");
      await working;
      const abort = new AbortController();
      const queued = host.prompt(session, "never", abort.signal);
      const last = host.prompt(session, "hello");
      abort.abort();
      await host.list(cwd); // The agent has read the cancel when it answers this.
      await host.cancel(session);
      assert.deepEqual(
        (await Promise.all([slow, queued, last])).map(({ stopReason }) => stopReason),
        ["cancelled", "cancelled", "end_turn"],
      );
      assert.equal(textOf(host.updates, "agent_message_chunk"), "workingAnswered.");
    }, { wish: "acp" }));

  for (const wish of ["meta", "acp"]) {
    it(`${wish}: /watch of the agent explore tells of a file that changed, answers meanwhile, and is cancelled`, () =>
      inSession(async (host, session, { inject }) => {
        await mkdir(path.join(cwd, "src"));
        await writeFile(path.join(cwd, "README.md"), "# A project of two files\n");
        const ready = host.next("the watch", (u) => u.content?.text?.includes("Watching"));
        const watch = host.prompt(session, "/watch src/**");
        await ready;
        const told = host.next("the change", (u) => u.content?.text?.includes("src/new.txt"));
        await writeFile(path.join(cwd, "src", "new.txt"), "new\n");
        await told;
        const changes = carried(host, "fs_watch");
        if (wish === "meta") {
          const events = changes.flatMap(({ events }) => events);
          assert.ok(events.some(({ paths }) => paths.some((it) => it.endsWith("src/new.txt"))), JSON.stringify(changes));
          assert.match(carried(host, "reminder_emitted")[0].reminder.body, /src\/new\.txt/);
        } else {
          assert.deepEqual(changes, [], "a plain host has the words alone");
        }
        const read = host.next("the answer", (u) => u.content?.text?.includes("A project of two files"));
        await inject("queue", "/read README.md");
        await read;
        await host.cancel(session);
        assert.equal((await watch).stopReason, "cancelled");
      }, { wish, play: "explore" }));
  }
});
