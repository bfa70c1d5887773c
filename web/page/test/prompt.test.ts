// The prompt box: the keys while the agent runs, waits or has another controller; and the menu.
import { describe, expect, it } from "vitest";
import { commandOf, keyAct, menuOf, offerOf, putBack, type Key, type Offer } from "../src/prompt.js";

const key = (name: string, more: Partial<Key> = {}): Key => ({ key: name, shiftKey: false, ctrlKey: false, metaKey: false, altKey: false, isComposing: false, ...more });
const idle: Offer = offerOf({ status: "idle" }, null);
const running: Offer = offerOf({ status: "running" }, null);
const locked: Offer = offerOf({ status: "running" }, "ada");

describe("offers", () => {
  it("says what can be done", () => {
    expect(idle).toEqual({ kind: "idle", submit: "Send" });
    expect(running).toEqual({ kind: "running", submit: "Queue", steer: "Steer now" });
    expect(locked).toEqual({ kind: "locked", by: "ada" });
    expect(offerOf({ status: "error" }, null).kind).toBe("idle");
  });
});

describe("keys", () => {
  it.each([
    ["Enter sends", key("Enter"), idle, false, "submit"],
    ["Enter queues while it runs", key("Enter"), running, false, "submit"],
    ["Ctrl+Enter steers while it runs", key("Enter", { ctrlKey: true }), running, false, "steer"],
    ["Ctrl+Enter sends while idle", key("Enter", { ctrlKey: true }), idle, false, "submit"],
    ["Shift+Enter is a new line", key("Enter", { shiftKey: true }), idle, false, null],
    ["Enter of an input method is its own", key("Enter", { isComposing: true }), idle, false, null],
    ["Escape stops what runs", key("Escape"), running, false, "stop"],
    ["Escape does nothing while idle", key("Escape"), idle, false, null],
    ["Escape closes the menu first", key("Escape"), running, true, "close-menu"],
    ["Enter picks from the menu", key("Enter"), running, true, "pick"],
    ["Tab picks from the menu", key("Tab"), idle, true, "pick"],
    ["arrows move in the menu", key("ArrowDown"), idle, true, "next"],
    ["arrows move in the text otherwise", key("ArrowDown"), idle, false, null],
    ["nothing is sent for somebody else", key("Enter"), locked, false, null],
    ["nothing is stopped for somebody else", key("Escape"), locked, false, null],
  ] as const)("%s", (_name, pressed, offer, menu, want) => {
    expect(keyAct(pressed, offer, menu)).toBe(want);
  });
});

describe("commands", () => {
  it("are made of the text as it is", () => {
    expect(commandOf("submit", " a\n")).toEqual({ type: "submit", prompt: " a\n" });
    expect(commandOf("steer", "b")).toEqual({ type: "steer", message: "b" });
    expect(commandOf("submit", " \n")).toBeNull();
  });

  it("are offered after a slash, those that begin so first", () => {
    const commands = ["replan", "plan", "test"].map((name) => ({ name, description: "", hint: null }));
    expect(menuOf("/PL", commands).map(({ name }) => name)).toEqual(["plan", "replan"]);
    expect(menuOf("/", commands).length).toBe(3);
    expect(menuOf("/plan ", commands)).toEqual([]);
    expect(menuOf("a /plan", commands)).toEqual([]);
  });

  it("that were lost come back before the draft", () => {
    expect(putBack(["one", "two"], "three")).toBe("one\n\ntwo\n\nthree");
    expect(putBack(["one"], "")).toBe("one");
  });
});
