// The example over a store, rendered by the real assistant-ui.

import "./dom.js";
import { shown } from "./dom.js";
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { AssistantTransportDeltaTracker } from "assistant-stream";
import { Thread } from "../example/Thread.js";
import { useHarnessRuntime } from "../example/useHarnessRuntime.js";
import type { Command, HarnessConnection, HarnessState, Operation } from "../src/index.js";
import { recordings } from "./recordings.js";
import { enter, type Screen } from "./screen.js";
import { approval, assistant, call, state, user } from "./state.js";

/** A connection without a wire: the test sets the messages of the server, and reads the commands. */
function wire(first: HarnessState | null) {
  const listeners = new Set<() => void>();
  let tracker = new AssistantTransportDeltaTracker(first as never);
  const sent: Command[] = [];
  const changed = (): void => listeners.forEach((listener) => listener());
  const connection: HarnessConnection = {
    getState: () => tracker.state as unknown as HarnessState | null,
    getStatus: () => "open",
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    send(...commands) {
      sent.push(...commands);
      return true;
    },
    close() {},
  };
  return {
    connection,
    sent,
    state(document: HarnessState): void {
      tracker = new AssistantTransportDeltaTracker(document as never);
      changed();
    },
    delta(...operations: Operation[]): void {
      tracker.append(operations);
      changed();
    },
  };
}

function show(connection: HarnessConnection): Screen {
  const screen = enter(() => useHarnessRuntime(connection), <Thread />);
  after(() => screen.leave());
  return screen;
}

describe("a thread of assistant-ui", () => {
  it("shows words, thoughts and calls as they come", async () => {
    const { connection, state: say, delta } = wire(null);
    const screen = show(connection);
    say(state({ status: "running", messages: [user("m1", "Count"), assistant("m2", "Let ", { thought: "Hm.", status: "streaming" })] }));
    await screen.shows("user: Count", "assistant running: Hm. | Let ");
    delta(
      { type: "append-text", path: ["messages", "1", "content"], value: "me see." },
      { type: "set", path: ["messages", "1", "toolCalls", "0"], value: call("t1", { title: "Count the files" }) },
    );
    await screen.shows("user: Count", "assistant running: Hm. | Let me see. | Count the files");
    delta(
      { type: "append-text", path: ["messages", "1", "toolCalls", "0", "output"], value: "12 files" },
      { type: "set", path: ["messages", "1", "toolCalls", "0", "status"], value: "complete" },
      { type: "set", path: ["messages", "1", "status"], value: "complete" },
      { type: "set", path: ["status"], value: "idle" },
    );
    await screen.shows("user: Count", "assistant complete: Hm. | Let me see. | Count the files | 12 files");
    assert.equal(screen.find("[data-call=t1]")?.dataset["status"], "complete");
    assert.equal(screen.find("[data-call=t1]")?.dataset["error"], "false");
  });

  it("asks about a call and sends the answer", async () => {
    const { connection, sent, delta } = wire(
      state({
        status: "running",
        messages: [user("m1", "Test"), assistant("m2", "", { status: "streaming", toolCalls: [call("t1", { approval: "pending" })] })],
        approvals: [approval("t1")],
      }),
    );
    const screen = show(connection);
    await screen.shows(
      "user: Test",
      "assistant requires-action: Run the tests | cargo test | Allow once | Allow in this session | Reject",
    );
    assert.equal(screen.find("[data-call=t1]")?.dataset["status"], "requires-action");

    await screen.press("Allow in this session");
    assert.deepEqual(sent, [{ type: "approve", toolCallId: "t1", optionId: "always" }]);
    delta(
      { type: "set", path: ["messages", "1", "toolCalls", "0", "approval"], value: "approved" },
      { type: "set", path: ["approvals"], value: [] },
    );
    await screen.shows("user: Test", "assistant running: Run the tests");
  });

  it("rejects with the command for it", async () => {
    const { connection, sent } = wire(
      state({
        status: "running",
        messages: [assistant("m1", "", { status: "streaming", toolCalls: [call("t1", { approval: "pending" })] })],
        approvals: [approval("t1")],
      }),
    );
    await show(connection).press("Reject");
    assert.deepEqual(sent, [{ type: "deny", toolCallId: "t1", optionId: "no" }]);
  });

  it("submits when nothing runs, steers and stops when something does, and takes back what waits", async () => {
    const { connection, sent, state: say } = wire(state());
    const screen = show(connection);
    await shown("the composer", () => screen.find("textarea"));
    await screen.runtime().thread.append("Begin");
    assert.deepEqual(sent.splice(0), [{ type: "submit", prompt: "Begin" }]);

    const messages = [user("m1", "Begin"), assistant("m2", "Well", { status: "streaming" })];
    say(state({ status: "running", messages }));
    await screen.shows("user: Begin", "assistant running: Well");
    await screen.runtime().thread.append("Faster");
    assert.deepEqual(sent.splice(0), [{ type: "steer", message: "Faster" }]);

    say(state({ status: "running", messages: [...messages, user("m3", "Then stop", { status: "pending" })] }));
    const waiting = await shown("the prompt that waits", () => screen.find(".waiting"));
    assert.match(waiting.textContent ?? "", /Then stop/);
    await screen.shows("user: Begin", "assistant running: Well");
    await screen.press("take back");
    assert.deepEqual(sent.splice(0), [{ type: "withdraw", messageId: "m3" }]);

    await screen.press("stop");
    assert.deepEqual(sent.splice(0), [{ type: "cancel" }]);
  });

  it("shows each recording to its end", async () => {
    for (const { frames } of recordings()) {
      const { connection, state: say, delta } = wire(null);
      const screen = show(connection);
      for (const frame of frames) {
        if (frame.type === "state") say(frame.state);
        if (frame.type === "delta") delta(...frame.operations);
      }
      const last = connection.getState();
      const spoken = (last?.messages ?? []).filter(({ status }) => status !== "pending");
      await shown("as many messages as were said", () => screen.messages().length === spoken.length);
      const page = screen.messages();
      for (const [index, { role, content }] of spoken.entries()) {
        assert.ok(page[index]?.startsWith(role) && page[index].includes(content), `${page[index]} should be what ${role} said: ${content}`);
      }
    }
  });
});
