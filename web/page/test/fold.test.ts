// The fold: each row of the contract's table, and that a delta is all or nothing.
import { describe, expect, it } from "vitest";
import { fold, Misfit, type Root } from "../src/wire/fold.js";
import { Doc } from "../src/wire/doc.js";
import type { HarnessState, Json, Op } from "../src/wire/types.js";

const set = (path: string[], value: Json): Op => ({ type: "set", path, value });
const append = (path: string[], value: string): Op => ({ type: "append-text", path, value });

function folded(doc: Json, ops: Op[]): Json {
  const root: Root = { doc: structuredClone(doc) };
  fold(root, ops, () => {});
  return root.doc;
}

describe("operations that fit", () => {
  const doc = { status: "idle", messages: [{ content: "Hello" }] };
  it.each<[string, Op[], Json]>([
    ["sets a member", [set(["status"], "running")], { ...doc, status: "running" }],
    ["appends text", [append(["messages", "0", "content"], " world")], { ...doc, messages: [{ content: "Hello world" }] }],
    ["appends to a list by its length", [set(["messages", "1"], "new")], { ...doc, messages: [{ content: "Hello" }, "new"] }],
    ["makes objects on the way", [set(["a", "b", "c"], 1)], { ...doc, a: { b: { c: 1 } } }],
    ["replaces everything", [set([], { x: 1 })], { x: 1 }],
    ["goes in order", [set(["messages", "1"], { content: "" }), append(["messages", "1", "content"], "ok")], { ...doc, messages: [{ content: "Hello" }, { content: "ok" }] }],
  ])("%s", (_name, ops, want) => {
    expect(folded(doc, ops)).toEqual(want);
  });
});

describe("operations that do not fit", () => {
  const doc = { status: "idle", n: 1, nothing: null, messages: ["a"] };
  it.each<[string, unknown]>([
    ["an index past the end", set(["messages", "2"], "x")],
    ["a negative index", set(["messages", "-1"], "x")],
    ["the JSON pointer for the end", set(["messages", "-"], "x")],
    ["an index with a zero before it", set(["messages", "00"], "x")],
    ["an empty index", set(["messages", ""], "x")],
    ["text for what is not there", append(["content"], "x")],
    ["text for null", append(["nothing"], "x")],
    ["text for a number", append(["n"], "x")],
    ["text that is none", { type: "append-text", path: ["status"], value: 1 }],
    ["a path through text", set(["status", "x"], 1)],
    ["a path through null", set(["nothing", "x"], 1)],
    ["the prototype", set(["__proto__", "polluted"], true)],
    ["the constructor", set(["constructor", "prototype"], true)],
    ["an operation nobody knows", { type: "remove", path: ["status"] }],
    ["no path", { type: "set", value: 1 }],
  ])("%s", (_name, op) => {
    expect(() => folded(doc, [op as Op])).toThrow(Misfit);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  it("undoes what went before, lists and made objects too", () => {
    const root: Root = { doc: structuredClone(doc) };
    const ops = [set(["status"], "running"), set(["messages", "1"], "b"), set(["messages", "0"], "z"), set(["made", "deep"], 1), append(["status"], "!"), set(["messages", "9"], "x")];
    const touched: string[][] = [];
    expect(() => fold(root, ops, (path) => touched.push(path))).toThrow(Misfit);
    expect(root.doc).toEqual(doc);
    expect(touched).toEqual([]);
  });
});

describe("versions", () => {
  const state = () => ({ status: "idle", messages: [{ content: "a" }, { content: "b" }] }) as unknown as Json;
  const doc = () => {
    const frames: (() => void)[] = [];
    const made = new Doc<HarnessState>((run) => frames.push(run));
    made.replace(state());
    return { made, frames };
  };

  it("change only for the message that changed, which stays the same object", () => {
    const { made } = doc();
    const [first, second] = [made.rowVersion(0), made.rowVersion(1)];
    const messages = made.state!.messages;
    made.apply([append(["messages", "1", "content"], "!")]);
    expect(made.rowVersion(0)).toBe(first);
    expect(made.rowVersion(1)).not.toBe(second);
    expect(made.state!.messages).toBe(messages);
    expect(messages[1]!.content).toBe("b!");
  });

  it("change for every message when the state is replaced", () => {
    const { made } = doc();
    made.apply([append(["messages", "0", "content"], "!")]);
    const before = [made.rowVersion(0), made.rowVersion(1)];
    made.replace(state());
    expect([made.rowVersion(0), made.rowVersion(1)].some((version) => before.includes(version))).toBe(false);
  });

  it("are told once a frame, however many deltas came, and only to whom they concern", () => {
    const { made, frames } = doc();
    frames.splice(0).forEach((run) => run());
    let messages = 0;
    let plan = 0;
    made.on(["messages", "status"], () => messages++);
    made.on(["plan"], () => plan++);
    for (let i = 0; i < 50; i++) made.apply([append(["messages", "0", "content"], "x"), set(["status"], "running")]);
    expect(messages).toBe(0);
    expect(frames.length).toBe(1);
    frames[0]!();
    expect([messages, plan]).toEqual([1, 0]);
  });
});
