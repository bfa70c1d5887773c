// Complete documents for tests; a test sets only the fields that matter to it.

import type { Approval, HarnessMessage, HarnessState, HarnessToolCall } from "../src/index.js";

export const AT = 1767225600000;

export function state(over: Partial<HarnessState> = {}): HarnessState {
  return {
    status: "idle",
    messages: [],
    session: {
      id: "session-1",
      title: null,
      cwd: "/workspace",
      agent: "script",
      createdAt: AT,
      mode: "default",
      modes: [{ id: "default", name: "Default", description: "Asks before it changes anything." }],
      options: [],
      commands: [],
    },
    plan: [],
    workers: [],
    skills: [],
    usage: null,
    approvals: [],
    questions: [],
    clients: [],
    controller: null,
    ...over,
  };
}

export function user(id: string, content: string, over: Partial<HarnessMessage> = {}): HarnessMessage {
  return { id, role: "user", content, status: "complete", at: AT, thought: "", notes: [], steer: false, author: null, ...over };
}

export function assistant(id: string, content: string, over: Partial<HarnessMessage> = {}): HarnessMessage {
  return { id, role: "assistant", content, status: "complete", toolCalls: [], at: AT, thought: "", notes: [], ...over };
}

export function call(id: string, over: Partial<HarnessToolCall> = {}): HarnessToolCall {
  return {
    id,
    name: "run_command",
    status: "running",
    title: "Run the tests",
    kind: "execute",
    at: AT,
    durationMs: null,
    locations: [],
    input: { command: "cargo test" },
    output: "",
    cut: false,
    diffs: [],
    error: null,
    approval: null,
    ...over,
  };
}

export function approval(toolCallId: string, over: Partial<Approval> = {}): Approval {
  return {
    id: `ask-${toolCallId}`,
    toolCallId,
    name: "run_command",
    title: "Run the tests",
    kind: "execute",
    input: { command: "cargo test" },
    command: "cargo test",
    locations: [],
    diffs: [],
    output: "",
    reason: null,
    risks: [],
    paths: [],
    options: [
      { id: "once", name: "Allow once", kind: "allow_once", scope: "once" },
      { id: "always", name: "Allow in this session", kind: "allow_always", scope: "session" },
      { id: "no", name: "Reject", kind: "reject_once", scope: "once" },
    ],
    requestedAt: AT,
    deadline: null,
    worker: null,
    ...over,
  };
}
