// Questions of an agent to a person, through the TypeScript SDK: as forms, over the bridge, as choices, and
// at a host that asks no person.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { textOf, withHost } from "./host.mjs";

describe("TypeScript SDK, questions", () => {
  let root, states = 0;
  before(async () => (root = await mkdtemp(path.join(tmpdir(), "harn-peer-ts-"))));
  after(() => rm(root, { recursive: true, force: true }));

  /** Prompts for both questions; returns the agent's text after both have settled as `outcomes`. */
  const release = (offer, prepare, outcomes, look) =>
    withHost({ state: path.join(root, `state-${++states}`), play: "person", wish: "meta", ...offer }, async (host) => {
      await host.initialize();
      const session = await host.newSession(root);
      prepare(host);
      assert.equal((await host.prompt(session, "release")).stopReason, "end_turn");
      const resolved = host.updates.map((u) => u._meta?.harn).filter((f) => f?.sessionUpdate === "hitl_resolved");
      assert.deepEqual(resolved.map((fields) => [fields.kind, fields.outcome]), outcomes);
      look(textOf(host.updates, "agent_message_chunk"), host);
    });
  const answered = [["question", "answered"], ["approval", "answered"]];

  it("forms: both are answered", () =>
    release(
      { form: true },
      (host) => {
        host.answers = [
          { action: "accept", content: { answer: "9090" } },
          { action: "accept", content: { approved: true, reason: "It was tested" } },
        ];
      },
      answered,
      (said, host) => {
        assert.equal(said, "Noted. Deployed.");
        const [question, approval] = host.forms;
        assert.deepEqual([question.mode, question.message], ["form", "Which port?"]);
        assert.deepEqual(question.requestedSchema.properties.answer.enum, ["8080", "9090"]);
        assert.match(approval.message, /deploy/);
        assert.equal(approval.requestedSchema.properties.approved.type, "boolean");
        assert.deepEqual(host.asked, [], "nothing came as a permission beside the forms");
      },
    ));

  it("forms: one is declined, one cancelled, and neither is a yes", () =>
    release(
      { form: true },
      (host) => (host.answers = [{ action: "decline" }, { action: "cancel" }]),
      [["question", "cancelled"], ["approval", "cancelled"]],
      (said) => assert.equal(said, "No port. Nobody said."),
    ));

  it("forms: an approval that is declined is refused", () =>
    release(
      { form: true },
      (host) => (host.answers = [{ action: "accept", content: { answer: "8080" } }, { action: "decline" }]),
      answered,
      (said) => assert.equal(said, "Noted. Not deployed."),
    ));

  for (const wish of ["meta", "harn"]) {
    it(`the bridge, ${wish}: both are answered with a method of ours`, () =>
      release(
        { bridge: true, wish },
        (host) => {
          host.respond = async ({ request_id, kind }) => {
            const answer = kind === "question" ? { answer: "9090" } : { approved: true, reviewer: "ada" };
            assert.deepEqual(await host.extension("harn.hitl.respond", { request_id, ...answer }), { ok: true });
          };
        },
        wish === "meta" ? answered : [],
        (said, host) => {
          assert.equal(said, "Noted. Deployed.");
          assert.deepEqual(host.requested.map(({ kind }) => kind), ["question", "approval"]);
          assert.deepEqual(host.requested[0].payload.choices, ["8080", "9090"]);
          assert.equal(host.requested[1].payload.approval_request.action, "deploy");
          // In `harn` the SDK drops what it does not know, and reports it.
          if (wish === "harn") assert.equal(host.takeComplaints().length, 4);
        },
      ));
  }

  it("choices: a host without either is asked like for a permission", () =>
    release(
      {},
      (host) => {
        const choices = ["choice_1", "approve"];
        Object.defineProperty(host, "choice", { get: () => choices.shift() });
      },
      answered,
      (said, host) => {
        assert.equal(said, "Noted. Deployed.");
        assert.deepEqual(host.asked.map(({ toolCall }) => toolCall.kind), ["think", "think"]);
        assert.deepEqual(host.asked[0].options.map(({ name }) => name), ["8080", "9090", "No answer"]);
        assert.deepEqual(host.asked[1].options.map(({ optionId }) => optionId), ["approve", "reject"]);
      },
    ));

  it("choices: cancelled leaves both unanswered", () =>
    release(
      {},
      (host) => (host.choice = undefined),
      [["question", "cancelled"], ["approval", "cancelled"]],
      (said) => assert.equal(said, "No port. Nobody said."),
    ));
});
