// Every pinned message: it fits the schemas, and this host shows of it what expected.json says; nothing, if
// it is not in there. UPDATE_EXPECT=1 rewrites that file: read the difference before you commit it.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { describe, it } from "node:test";
import { notified, updated, type Rows } from "../src/activity.js";
import { lines, question } from "../src/permission.js";
import { judge, messages, read, root } from "./contract.js";

/** What the host shows of one message by itself. */
function shown({ method, params }: any, rows: Rows = new Map()): string[] {
  switch (method) {
    case "session/update":
      return [...updated(rows, params.update).values()];
    case "_harn/agentEvent":
      return [...notified(rows, params).values()];
    case "session/request_permission":
      return lines(question(params));
    default:
      return [];
  }
}

describe("pinned messages", () => {
  const pinned = messages().map((name) => ({ name, message: read(`pinned/messages/${name}.json`) }));
  if (process.env.UPDATE_EXPECT) {
    const all = pinned.map(({ name, message }) => [name, shown(message)] as const);
    const some = Object.fromEntries(all.filter(([, rows]) => rows.length > 0));
    writeFileSync(new URL("test/expected.json", root), `${JSON.stringify(some, null, 2)}\n`);
  }
  const expected = read("test/expected.json");

  for (const { name, message } of pinned) {
    it(name, () => {
      assert.deepEqual(judge(message).problems, []);
      assert.deepEqual(shown(message), expected[name] ?? [], "UPDATE_EXPECT=1 takes over what is shown now");
    });
  }

  it("are all that is expected", () => {
    const names = pinned.map(({ name }) => name);
    assert.deepEqual(Object.keys(expected).filter((name) => !names.includes(name)), []);
  });

  it("fall under every schema of what an agent sends", () => {
    const judged = new Set(pinned.flatMap(({ message }) => judge(message).by));
    assert.deepEqual([...judged].sort(), [
      "agent-event", "content-meta", "initialize-meta", "permission-request", "plan-meta", "session-capabilities",
      "session-info-meta", "session-mcp-meta", "tool-lifecycle-meta",
    ]);
  });
});

describe("what a later version may send", () => {
  const rows: Rows = new Map([["w", "something that goes on"]]);
  const carrier = (harn: object) => ({
    method: "session/update",
    params: { update: { sessionUpdate: "session_info_update", _meta: { harn } } },
  });

  it("an extension nobody knows yet changes nothing", () =>
    assert.deepEqual(shown(carrier({ sessionUpdate: "telepathy", strength: 9 }), rows), [...rows.values()]));

  it("nor does a kind of event", () =>
    assert.deepEqual(shown({ method: "_harn/agentEvent", params: { kind: "telepathy" } }, rows), [...rows.values()]));

  it("a field nobody knows yet is ignored", () => {
    const progress = { sessionUpdate: "progress", phase: "index", message: "Indexing", mood: "good" };
    assert.deepEqual(shown(carrier(progress)), ["Indexing"]);
  });

  it("a question of an agent that says nothing of its own is put with what ACP has", () => {
    const params = {
      toolCall: { toolCallId: "call-1", title: "Run\u001b[2K it" },
      options: [{ optionId: "yes", name: "Yes", kind: "allow_once" }],
    };
    // And no agent moves the cursor.
    assert.deepEqual(shown({ method: "session/request_permission", params }), ["? Run\uFFFD[2K it", "  1 Yes"]);
  });
});
