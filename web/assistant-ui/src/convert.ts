// The document as messages of assistant-ui. Pure: the same document gives the same messages, and a message that did not
// change gives the same object, so that a frame of a long session costs only one look-up per message.

import type { QueueItemState, RespondToToolApprovalOptions, ThreadMessageLike, ToolApprovalOption } from "@assistant-ui/react";
import type {
  Approval,
  ApprovalOption,
  Command,
  HarnessDiff,
  HarnessLocation,
  HarnessMessage,
  HarnessNote,
  HarnessState,
  HarnessToolCall,
  Json,
  ToolKind,
} from "./types.js";

/** The additional fields of a message, at `metadata.custom.harness`. */
export type HarnessCustom = {
  readonly status: HarnessMessage["status"];
  readonly notes: readonly HarnessNote[];
  readonly steer: boolean;
  readonly author: string | null;
};

/** The additional fields of a tool call, at the part's `artifact`; present from the start of the call. */
export type HarnessArtifact = {
  readonly title: string;
  readonly kind: ToolKind;
  readonly locations: readonly HarnessLocation[];
  readonly output: string;
  readonly cut: boolean;
  readonly diffs: readonly HarnessDiff[];
  readonly error: string | null;
  readonly durationMs: number | null;
  /** The complete open question about this call. */
  readonly approval: Approval | null;
};

export type ConvertOptions = {
  /** Leaves out the prompts that still wait, for pages that show them with `toQueueItems`. */
  readonly withoutPending?: boolean;
};

type Parts = Exclude<ThreadMessageLike["content"], string>;
type ToolCallPart = Extract<Parts[number], { readonly type: "tool-call" }>;
type Status = NonNullable<ThreadMessageLike["status"]>;

/** The inputs of a converted message besides the message itself. */
type Around = {
  /** The open questions about its calls, in the order of the calls that wait. */
  readonly approvals: readonly (Approval | undefined)[];
  /** Why the run failed, if this is the message that failed. */
  readonly error: string | undefined;
  /** Whether the session runs; always true for a message that has ended, because it does not matter there. */
  readonly running: boolean;
};

const NONE: readonly never[] = [];

const converted = new WeakMap<HarnessMessage, { readonly around: Around; readonly like: ThreadMessageLike }>();
const lists = new WeakMap<readonly HarnessMessage[], { readonly key: readonly unknown[]; readonly likes: ThreadMessageLike[] }>();

/** The messages of a session for `useExternalStoreRuntime`, or for the converter of `useAssistantTransportRuntime`. */
export function toThreadMessages(state: HarnessState, options: ConvertOptions = {}): ThreadMessageLike[] {
  const withoutPending = options.withoutPending ?? false;
  // assistant-ui does nothing when it gets the same array, for instance when only the plan or the usage changed.
  const key = [state.approvals, state.status, state.error, withoutPending];
  const last = lists.get(state.messages);
  if (last !== undefined && same(last.key, key)) return last.likes;

  const asked = new Map(state.approvals.map((approval) => [approval.toolCallId, approval]));
  const failed = state.status === "error" ? state.messages.findLast((message) => message.role === "assistant") : undefined;
  const likes: ThreadMessageLike[] = [];
  for (const message of state.messages) {
    if (withoutPending && message.status === "pending") continue;
    likes.push(
      remembered(message, {
        approvals: openApprovals(message, asked),
        error: message === failed ? state.error : undefined,
        running: state.status === "running" || !isOpen(message),
      }),
    );
  }
  lists.set(state.messages, { key, likes });
  return likes;
}

/** The prompts that wait for their turn, for the queue of `useExternalStoreRuntime`. */
export function toQueueItems(state: HarnessState, lane: "queue" | "steer"): QueueItemState[] {
  return state.messages
    .filter((message) => message.status === "pending" && (message.steer === true) === (lane === "steer"))
    .map(({ id, content }) => ({ id, prompt: content, parts: [{ type: "text", text: content }] }));
}

/** The command for a person's answer in assistant-ui's approval, or null when the approval is no longer open. */
export function approvalCommand(state: HarnessState, answer: RespondToToolApprovalOptions): Command | null {
  const approval = state.approvals.find(({ id }) => id === answer.approvalId);
  if (approval === undefined) return null;
  const chosen = {
    toolCallId: approval.toolCallId,
    ...(answer.optionId !== undefined && { optionId: answer.optionId }),
  };
  if (answer.approved) return { type: "approve", ...chosen };
  return { type: "deny", ...chosen, ...(answer.reason !== undefined && { reason: answer.reason }) };
}

function remembered(message: HarnessMessage, around: Around): ThreadMessageLike {
  const last = converted.get(message);
  if (
    last !== undefined &&
    last.around.error === around.error &&
    last.around.running === around.running &&
    same(last.around.approvals, around.approvals)
  ) {
    return last.like;
  }
  const like = message.role === "user" ? userMessage(message) : assistantMessage(message, around);
  converted.set(message, { around, like });
  return like;
}

function userMessage(message: HarnessMessage): ThreadMessageLike {
  // assistant-ui allows no status on messages of the user; `custom` has whether one waits or was withdrawn.
  return {
    id: message.id,
    role: "user",
    createdAt: new Date(message.at),
    content: [{ type: "text", text: message.content }],
    metadata: { custom: { harness: custom(message) } },
  };
}

function assistantMessage(message: HarnessMessage, around: Around): ThreadMessageLike {
  // The order within one message: reasoning, text, tool calls.
  const content: Parts[number][] = [];
  if (message.thought !== "") content.push({ type: "reasoning", text: message.thought });
  if (message.content !== "") content.push({ type: "text", text: message.content });
  const waiting = waitingCalls(message);
  for (const call of message.toolCalls ?? []) {
    const index = waiting.indexOf(call);
    content.push(toolCall(call, index === -1 ? undefined : around.approvals[index]));
  }
  return {
    id: message.id,
    role: "assistant",
    createdAt: new Date(message.at),
    status: status(message, around),
    content,
    metadata: { custom: { harness: custom(message) } },
  };
}

function status(message: HarnessMessage, around: Around): Status {
  if (message.status === "error") {
    return { type: "incomplete", reason: "error", ...(around.error !== undefined && { error: around.error }) };
  }
  if (around.approvals.length > 0) return { type: "requires-action", reason: "interrupt" };
  if (!isOpen(message)) return { type: "complete", reason: "stop" };
  // Nothing runs, but the message is open: it will not end.
  return around.running ? { type: "running" } : { type: "incomplete", reason: "cancelled" };
}

function toolCall(call: HarnessToolCall, asked: Approval | undefined): ToolCallPart {
  const artifact: HarnessArtifact = {
    title: call.title,
    kind: call.kind,
    locations: call.locations,
    output: call.output,
    cut: call.cut,
    diffs: call.diffs,
    error: call.error,
    durationMs: call.durationMs,
    approval: asked ?? null,
  };
  const approval = toolApproval(call, asked);
  return {
    type: "tool-call",
    toolCallId: call.id,
    toolName: call.name,
    // Arguments of assistant-ui must be an object; other values are still available as text.
    args: isObject(call.input) ? call.input : {},
    argsText: call.input === null ? "" : JSON.stringify(call.input),
    artifact,
    timing: { startedAt: call.at, ...(call.durationMs !== null && { completedAt: call.at + call.durationMs }) },
    ...(approval !== undefined && { approval }),
    // assistant-ui treats a call with a result, even an empty one, as ended.
    ...(call.status !== "running" && { result: result(call), isError: call.status === "error" }),
  };
}

/** The outcome as a person reads it: the output and then the error, or the files of a call without output. */
function result(call: HarnessToolCall): string {
  if (call.error !== null) return [call.output, call.error].filter((text) => text !== "").join("\n");
  return call.output === "" ? call.diffs.map((diff) => diff.path).join("\n") : call.output;
}

function toolApproval(call: HarnessToolCall, asked: Approval | undefined): ToolCallPart["approval"] {
  switch (call.approval) {
    case null:
      return undefined;
    case "approved":
      return { id: call.id, approved: true };
    case "denied":
      return { id: call.id, approved: false };
    case "pending":
      if (asked === undefined) return { id: call.id };
      return { id: asked.id, prompt: asked.command ?? asked.title, options: asked.options.map(option) };
  }
}

const OPTION_KINDS = {
  allow_once: "allow-once",
  allow_always: "allow-always",
  reject_once: "reject-once",
  reject_always: "reject-always",
} as const;

function option({ id, name, kind, scope }: ApprovalOption): ToolApprovalOption {
  return { id, kind: OPTION_KINDS[kind], label: name, description: scope };
}

function custom(message: HarnessMessage): HarnessCustom {
  const { status, notes, steer = false, author = null } = message;
  return { status, notes, steer, author };
}

function openApprovals(message: HarnessMessage, asked: ReadonlyMap<string, Approval>): Around["approvals"] {
  const calls = waitingCalls(message);
  return calls === NONE ? NONE : calls.map((call) => asked.get(call.id));
}

/** The calls that wait for an answer of a person. */
function waitingCalls(message: HarnessMessage): readonly HarnessToolCall[] {
  const calls = message.toolCalls;
  return calls?.some(waits) ? calls.filter(waits) : NONE;
}

function waits(call: HarnessToolCall): boolean {
  return call.status === "running" && call.approval === "pending";
}

/** Whether the message or a call in it is still running. */
function isOpen(message: HarnessMessage): boolean {
  return message.status === "streaming" || (message.toolCalls?.some(({ status }) => status === "running") ?? false);
}

function isObject(value: Json): value is { readonly [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function same(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, index) => value === b[index]);
}
