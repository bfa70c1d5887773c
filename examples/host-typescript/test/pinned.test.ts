// Every pinned message: it fits the schemas, and this host shows of it what expected.json says; nothing, if
// it is not in there. UPDATE_EXPECT=1 rewrites that file: read the difference before you commit it.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { describe, it } from "node:test";
import { notified, question, updated, type Rows } from "../src/activity.js";
import { judge, messages, read, root } from "./contract.js";

/** What the host shows of one message by itself. */
function shown({ method, params }: any, rows: Rows = new Map()): string[] {
  switch (method) {
    case "session/update":
      return [...updated(rows, params.update).values()];
    case "_harn/agentEvent":
      return [...notified(rows, params).values()];
    case "session/request_permission":
      return [question(params)];
    default:
      return [];
  }
}

describe("pinned messages", () => {
  const pinned = messages();

  for (const name of pinned) {
    it(`${name} fits the schemas`, () => assert.deepEqual(judge(read(`pinned/messages/${name}.json`)).problems, []));
  }

  it("fall under every schema of what an agent sends", () => {
    const judged = new Set(pinned.flatMap((name) => judge(read(`pinned/messages/${name}.json`)).by));
    assert.deepEqual([...judged].sort(), [
      "agent-event", "content-meta", "initialize-meta", "permission-request", "plan-meta",
      "session-info-meta", "tool-lifecycle-meta",
    ]);
  });

  it("are shown as expected", () => {
    const all = pinned.map((name) => [name, shown(read(`pinned/messages/${name}.json`))] as const);
    const actual = Object.fromEntries(all.filter(([, rows]) => rows.length > 0));
    if (process.env.UPDATE_EXPECT) {
      writeFileSync(new URL("test/expected.json", root), `${JSON.stringify(actual, null, 2)}\n`);
    }
    const expected = read("test/expected.json");
    assert.deepEqual(actual, expected, "UPDATE_EXPECT=1 takes over what is shown now");
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
});
