// Recorded frames, folded by assistant-ui's own tracker and converted at every step.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fromThreadMessageLike } from "@assistant-ui/react";
import { AssistantTransportDeltaTracker } from "assistant-stream";
import { toThreadMessages, type HarnessState } from "../src/index.js";
import { recordings, type Recording } from "./recordings.js";
import { checkState } from "./shape.js";

/** The expected result of each of our own recordings. */
const ENDS: Record<string, string[]> = {
  turn: [
    "user: How many tests are there?",
    "assistant complete: (I should look before I answer.) Let me count them. [grep: src/lib.rs:10\nsrc/lib.rs:22\n]",
    "assistant complete: There are two — é, 漢, 😀 and all.",
  ],
  approval: [
    "user: Run the tests",
    "assistant complete: I will run them. [run_command: 2 passed] [write_file: denied: not now]",
  ],
  queue: [
    "user: Say hello",
    "assistant complete: Hello",
    "user: In French",
    "assistant complete: Bonjour",
    "user: Then say goodbye",
    "assistant complete: Au revoir",
    "user: And again",
  ],
  failure: [
    "user: Go on",
    "assistant incomplete: I was about to [run_command: half\ninterrupted]",
    "user: Again",
    "assistant complete: Better",
  ],
};

function states({ frames }: Recording): HarnessState[] {
  const seen: HarnessState[] = [];
  let tracker: AssistantTransportDeltaTracker | undefined;
  for (const frame of frames) {
    if (frame.type === "error") continue;
    if (frame.type === "state") tracker = new AssistantTransportDeltaTracker(frame.state as never);
    else {
      assert.ok(tracker, "changes came before the document");
      tracker.append(frame.operations);
    }
    const state: unknown = tracker.state;
    checkState(state);
    seen.push(state);
  }
  return seen;
}

function lines(state: HarnessState): string[] {
  return toThreadMessages(state).map((like) => {
    const message = fromThreadMessageLike(like, "", { type: "complete", reason: "unknown" });
    const words = message.content.map((part) => {
      switch (part.type) {
        case "text":
          return part.text;
        case "reasoning":
          return `(${part.text})`;
        case "tool-call":
          return `[${part.toolName}: ${part.result}]`;
        default:
          throw new Error(`the converter makes no part ${part.type}`);
      }
    });
    return `${message.role}${message.role === "assistant" ? ` ${message.status.type}` : ""}: ${words.join(" ")}`;
  });
}

const all = recordings();

it("knows how each recording of its own ends", () => {
  assert.deepEqual(all.filter(({ ours }) => ours).map(({ name }) => name), Object.keys(ENDS).sort());
});

for (const recording of all) {
  describe(`recording ${recording.name}${recording.ours ? "" : " of the server"}`, () => {
    it("is a document at every step, which assistant-ui can show", () => {
      const seen = states(recording);
      for (const state of seen) assert.equal(lines(state).length, state.messages.length);
      if (recording.ours) assert.deepEqual(lines(seen.at(-1)!), ENDS[recording.name]);
    });

    it("converts at each step only the messages that changed", () => {
      const seen = states(recording);
      for (const [index, state] of seen.entries()) {
        const before = seen[index - 1];
        if (before === undefined || before.approvals !== state.approvals || before.status !== state.status) continue;
        const known = new Map(before.messages.map((message, at) => [message, toThreadMessages(before)[at]]));
        for (const [at, message] of state.messages.entries()) {
          if (known.has(message)) assert.equal(toThreadMessages(state)[at], known.get(message));
        }
      }
    });
  });
}
