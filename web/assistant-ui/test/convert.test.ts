// Tests the converter, table by table, and that it does no work twice.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fromThreadMessageLike, type ThreadMessageLike } from "@assistant-ui/react";
import { approvalCommand, toQueueItems, toThreadMessages, type HarnessMessage, type HarnessState } from "../src/index.js";
import { approval, assistant, AT, call, state, user } from "./state.js";

/** The only message of a session, converted. */
function one(message: HarnessMessage, over: Partial<HarnessState> = {}): ThreadMessageLike {
  const likes = toThreadMessages(state({ messages: [message], ...over }));
  assert.equal(likes.length, 1);
  // assistant-ui throws on a message that it cannot take.
  fromThreadMessageLike(likes[0]!, "", { type: "complete", reason: "unknown" });
  return likes[0]!;
}

function parts(like: ThreadMessageLike) {
  assert.ok(typeof like.content !== "string");
  return like.content;
}

function callPart(like: ThreadMessageLike) {
  const part = parts(like).find(({ type }) => type === "tool-call");
  assert.ok(part?.type === "tool-call");
  return part;
}

describe("messages", () => {
  it("are of the user, with what assistant-ui has no field for under custom", () => {
    assert.deepEqual(one(user("m1", "Hello", { status: "pending", steer: true, author: "tab" })), {
      id: "m1",
      role: "user",
      createdAt: new Date(AT),
      content: [{ type: "text", text: "Hello" }],
      metadata: { custom: { harness: { status: "pending", notes: [], steer: true, author: "tab" } } },
    });
  });

  it("are of the assistant: thought, text, then calls", () => {
    const notes = [{ kind: "skill", text: "Using the skill rust", at: AT }] as const;
    const like = one(assistant("m1", "Look:", { thought: "Hm.", toolCalls: [call("t1")], notes }));
    assert.deepEqual(
      parts(like).map(({ type }) => type),
      ["reasoning", "text", "tool-call"],
    );
    assert.deepEqual(like.metadata?.custom, { harness: { status: "complete", notes, steer: false, author: null } });
  });

  it("have no parts for what is not there yet", () => {
    assert.deepEqual(parts(one(assistant("m1", "", { status: "streaming" }), { status: "running" })), []);
  });
});

describe("the status of a message", () => {
  const running = { status: "running" } as const;
  const waiting = call("t1", { approval: "pending" });
  const cases: [string, HarnessMessage, Partial<HarnessState>, ThreadMessageLike["status"]][] = [
    ["streams", assistant("m", "a", { status: "streaming" }), running, { type: "running" }],
    ["is over", assistant("m", "a"), running, { type: "complete", reason: "stop" }],
    ["spoke, and a call goes on", assistant("m", "a", { toolCalls: [call("t1")] }), running, { type: "running" }],
    [
      "waits for an answer",
      assistant("m", "a", { status: "streaming", toolCalls: [waiting] }),
      { ...running, approvals: [approval("t1")] },
      { type: "requires-action", reason: "interrupt" },
    ],
    [
      "had its answer",
      assistant("m", "a", { status: "streaming", toolCalls: [call("t1", { approval: "approved" })] }),
      running,
      { type: "running" },
    ],
    [
      "failed, and says why",
      assistant("m", "a", { status: "error" }),
      { status: "error", error: "out of tokens" },
      { type: "incomplete", reason: "error", error: "out of tokens" },
    ],
    ["failed some time ago", assistant("m", "a", { status: "error" }), {}, { type: "incomplete", reason: "error" }],
    ["was left open", assistant("m", "a", { status: "streaming" }), {}, { type: "incomplete", reason: "cancelled" }],
  ];
  for (const [name, message, over, expected] of cases) {
    it(name, () => assert.deepEqual(one(message, over).status, expected));
  }

  it("blames only the last message for the error of the session", () => {
    const messages = [assistant("m1", "", { status: "error" }), user("m2", "again"), assistant("m3", "", { status: "error" })];
    const likes = toThreadMessages(state({ messages, status: "error", error: "no" }));
    assert.deepEqual(
      likes.map((like) => like.status),
      [{ type: "incomplete", reason: "error" }, undefined, { type: "incomplete", reason: "error", error: "no" }],
    );
  });
});

describe("a tool call", () => {
  it("is a part, with its arguments and all that a page may want to show", () => {
    const running = call("t1", { output: "so far", locations: [{ path: "a.rs", line: 3 }] });
    assert.deepEqual(callPart(one(assistant("m1", "", { toolCalls: [running] }), { status: "running" })), {
      type: "tool-call",
      toolCallId: "t1",
      toolName: "run_command",
      args: { command: "cargo test" },
      argsText: '{"command":"cargo test"}',
      artifact: {
        title: "Run the tests",
        kind: "execute",
        locations: [{ path: "a.rs", line: 3 }],
        output: "so far",
        cut: false,
        diffs: [],
        error: null,
        durationMs: null,
        approval: null,
      },
      timing: { startedAt: AT },
    });
  });

  const diffs = [
    { path: "a.rs", oldText: null, newText: "a" },
    { path: "b.rs", oldText: "b", newText: "" },
  ];
  const outcomes: [string, Parameters<typeof call>[1], unknown, boolean][] = [
    ["output", { status: "complete", output: "2 passed" }, "2 passed", false],
    ["nothing", { status: "complete" }, "", false],
    ["changed files", { status: "complete", diffs }, "a.rs\nb.rs", false],
    ["output and changed files", { status: "complete", output: "done", diffs }, "done", false],
    ["an error", { status: "error", error: "no such file" }, "no such file", true],
    ["output, then an error", { status: "error", output: "half", error: "interrupted" }, "half\ninterrupted", true],
    ["an error without words", { status: "error" }, "", true],
  ];
  for (const [name, over, result, isError] of outcomes) {
    it(`ends with ${name}`, () => {
      const part = callPart(one(assistant("m1", "", { toolCalls: [call("t1", { durationMs: 5, ...over })] })));
      assert.deepEqual([part.result, part.isError], [result, isError]);
      assert.deepEqual(part.timing, { startedAt: AT, completedAt: AT + 5 });
    });
  }

  const inputs: [string, HarnessState["messages"][number]["thought"] | null | number | readonly string[], object, string][] = [
    ["none", null, {}, ""],
    ["a text", "ls", {}, '"ls"'],
    ["an array", ["a"], {}, '["a"]'],
  ];
  for (const [name, input, args, argsText] of inputs) {
    it(`takes ${name} for arguments`, () => {
      const part = callPart(one(assistant("m1", "", { toolCalls: [call("t1", { input })] })));
      assert.deepEqual([part.args, part.argsText], [args, argsText]);
    });
  }
});

describe("an approval", () => {
  const asks = (over: Partial<HarnessState> = {}): HarnessState =>
    state({
      status: "running",
      messages: [assistant("m1", "", { status: "streaming", toolCalls: [call("t1", { approval: "pending" })] })],
      approvals: [approval("t1")],
      ...over,
    });
  const first = (document: HarnessState) => callPart(toThreadMessages(document)[0]!);

  it("is on its call, with the options by assistant-ui's names", () => {
    assert.deepEqual(first(asks()).approval, {
      id: "ask-t1",
      prompt: "cargo test",
      options: [
        { id: "once", kind: "allow-once", label: "Allow once", description: "once" },
        { id: "always", kind: "allow-always", label: "Allow in this session", description: "session" },
        { id: "no", kind: "reject-once", label: "Reject", description: "once" },
      ],
    });
    assert.equal(first(asks()).artifact.approval.id, "ask-t1");
  });

  it("asks by the title where there is no command", () => {
    assert.equal(first(asks({ approvals: [approval("t1", { command: null })] })).approval?.prompt, "Run the tests");
  });

  it("is decided", () => {
    for (const [given, approved] of [["approved", true], ["denied", false]] as const) {
      const part = callPart(one(assistant("m1", "", { toolCalls: [call("t1", { status: "error", approval: given })] })));
      assert.deepEqual(part.approval, { id: "t1", approved });
    }
  });

  it("is answered by a command", () => {
    const answers = [
      [{ approved: true }, { type: "approve", toolCallId: "t1" }],
      [{ approved: true, optionId: "always" }, { type: "approve", toolCallId: "t1", optionId: "always" }],
      [{ approved: false, reason: "no" }, { type: "deny", toolCallId: "t1", reason: "no" }],
      [{ approved: false, optionId: "no" }, { type: "deny", toolCallId: "t1", optionId: "no" }],
    ] as const;
    for (const [answer, command] of answers) {
      assert.deepEqual(approvalCommand(asks(), { approvalId: "ask-t1", ...answer }), command);
    }
    assert.equal(approvalCommand(asks(), { approvalId: "ask-t2", approved: true }), null);
  });
});

describe("prompts that wait", () => {
  const messages = [
    user("m1", "first"),
    user("m2", "next", { status: "pending" }),
    user("m3", "now", { status: "pending", steer: true }),
  ];
  it("are messages like others", () => {
    assert.deepEqual(toThreadMessages(state({ messages })).map(({ id }) => id), ["m1", "m2", "m3"]);
  });
  it("or the items of a queue", () => {
    const document = state({ messages });
    assert.deepEqual(toThreadMessages(document, { withoutPending: true }).map(({ id }) => id), ["m1"]);
    assert.deepEqual(toQueueItems(document, "queue"), [{ id: "m2", prompt: "next", parts: [{ type: "text", text: "next" }] }]);
    assert.deepEqual(toQueueItems(document, "steer"), [{ id: "m3", prompt: "now", parts: [{ type: "text", text: "now" }] }]);
  });
});

describe("work that was done", () => {
  const old = Array.from({ length: 10_000 }, (_, index) => assistant(`m${index}`, `text ${index}`, { toolCalls: [call(`t${index}`, { status: "complete" })] }));
  const streaming = (content: string): HarnessState =>
    state({ status: "running", messages: [...old, assistant("last", content, { status: "streaming" })] });

  it("is not done again for messages that did not change", () => {
    const before = toThreadMessages(streaming("a"));
    const after = toThreadMessages(streaming("ab"));
    assert.notEqual(after, before);
    assert.deepEqual(after.filter((like, index) => like !== before[index]).map(({ id }) => id), ["last"]);
  });

  it("is not done at all when something else changed", () => {
    const document = streaming("a");
    assert.equal(toThreadMessages({ ...document, skills: ["rust"] }), toThreadMessages(document));
  });

  it("is done again for a message when the question about its call changed, and for no other", () => {
    const messages = [assistant("m1", ""), assistant("m2", "", { status: "streaming", toolCalls: [call("t1", { approval: "pending" })] })];
    const before = toThreadMessages(state({ status: "running", messages, approvals: [approval("t1")] }));
    const after = toThreadMessages(state({ status: "running", messages, approvals: [approval("t1", { command: "rm -r target" })] }));
    assert.equal(after[0], before[0]);
    assert.equal(callPart(after[1]!).approval?.prompt, "rm -r target");
  });
});
