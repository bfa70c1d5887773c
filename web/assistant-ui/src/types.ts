// The messages of harn-serve on `/ws`: the document of a session, the frames that carry it, and the commands.

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** The document of a session. */
export type HarnessState = {
  readonly status: "idle" | "running" | "error";
  readonly messages: readonly HarnessMessage[];
  /** Present only while `status` is `error`. */
  readonly error?: string;
  readonly session: HarnessSession;
  readonly plan: readonly PlanEntry[];
  readonly workers: readonly HarnessWorker[];
  /** The skills that are active. */
  readonly skills: readonly string[];
  readonly usage: HarnessUsage | null;
  /** Open questions about tool calls, oldest first. */
  readonly approvals: readonly Approval[];
  /** Open questions to a person. */
  readonly questions: readonly Question[];
  /** The clients that attached under a name. */
  readonly clients: readonly HarnessClient[];
  /** The controller of the session; may be a client that is not in `clients`, such as an editor. */
  readonly controller: string | null;
};

export type HarnessMessage = {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly content: string;
  readonly status: "pending" | "streaming" | "complete" | "error";
  /** Always present on messages of the assistant. */
  readonly toolCalls?: readonly HarnessToolCall[];
  /** Milliseconds since the epoch, like every time here that is a number. */
  readonly at: number;
  /** The reasoning before the text; empty when there was none. */
  readonly thought: string;
  /** Notes that arrived after this message began. */
  readonly notes: readonly HarnessNote[];
  /** On messages of the user: sent during a run. */
  readonly steer?: boolean;
  /** On messages of the user: the name of the client that sent it. */
  readonly author?: string | null;
};

export type HarnessNote = {
  readonly kind:
    | "skill"
    | "reminder"
    | "mode"
    | "handoff"
    | "artifact"
    | "progress"
    | "compaction"
    | "permission"
    | "info";
  readonly text: string;
  readonly at: number;
};

export type ToolKind = "read" | "edit" | "delete" | "move" | "search" | "execute" | "think" | "fetch" | "other";

export type HarnessLocation = { readonly path: string; readonly line?: number };

export type HarnessDiff = { readonly path: string; readonly oldText: string | null; readonly newText: string };

export type HarnessToolCall = {
  readonly id: string;
  readonly name: string;
  readonly status: "running" | "complete" | "error";
  readonly title: string;
  readonly kind: ToolKind;
  readonly at: number;
  readonly durationMs: number | null;
  readonly locations: readonly HarnessLocation[];
  readonly input: Json;
  readonly output: string;
  /** The output is too long for the document; `/state/output` has all of it. */
  readonly cut: boolean;
  readonly diffs: readonly HarnessDiff[];
  readonly error: string | null;
  readonly approval: null | "pending" | "approved" | "denied";
};

export type ApprovalOption = {
  readonly id: string;
  readonly name: string;
  readonly kind: "allow_once" | "allow_always" | "reject_once" | "reject_always";
  readonly scope: string;
};

export type Approval = {
  readonly id: string;
  readonly toolCallId: string;
  readonly name: string;
  readonly title: string;
  readonly kind: ToolKind;
  readonly input: Json;
  /** The exact command line, if the call runs a command. */
  readonly command: string | null;
  readonly locations: readonly HarnessLocation[];
  readonly diffs: readonly HarnessDiff[];
  readonly output: string;
  readonly reason: string | null;
  readonly risks: readonly string[];
  readonly paths: readonly string[];
  readonly options: readonly ApprovalOption[];
  readonly requestedAt: number;
  readonly deadline: number | null;
  /** The worker that asks, `a / b` when nested. */
  readonly worker: string | null;
};

export type Question = {
  readonly id: string;
  readonly kind: "question" | "approval" | "dual_control" | "escalation";
  readonly subject: string;
  readonly detail: string | null;
  readonly choices: readonly string[];
  readonly default: string | null;
  readonly to: string | null;
  readonly reviewers: readonly string[];
  readonly quorum: number;
  readonly requestedAt: number;
  readonly deadline: number;
  readonly agent: string;
};

export type HarnessSession = {
  readonly id: string;
  readonly title: string | null;
  readonly cwd: string;
  readonly agent: string;
  readonly createdAt: number;
  readonly mode: string;
  readonly modes: readonly { readonly id: string; readonly name: string; readonly description: string }[];
  readonly options: readonly {
    readonly id: string;
    readonly name: string;
    readonly description: string;
    readonly value: string;
    readonly choices: readonly { readonly value: string; readonly name: string }[];
  }[];
  readonly commands: readonly { readonly name: string; readonly description: string; readonly hint: string | null }[];
};

export type PlanEntry = {
  readonly content: string;
  readonly status: "pending" | "in_progress" | "completed";
  readonly priority: "high" | "medium" | "low";
};

export type HarnessWorker = {
  readonly id: string;
  readonly name: string;
  readonly task: string;
  readonly mode: string;
  readonly status: "running" | "progressed" | "awaiting_input" | "completed" | "failed" | "stopped" | "cancelled";
  /** The worker's own session, which clients can observe like any other. */
  readonly sessionId: string | null;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly error: string | null;
};

export type HarnessUsage = {
  readonly used: number;
  readonly size: number;
  readonly cost: { readonly amount: number; readonly currency: string } | null;
};

export type HarnessClient = {
  readonly id: string;
  readonly mode: "observer" | "controller";
  readonly attachedAt: string;
  readonly lastSeenAt: string;
};

export type Operation =
  | { readonly type: "set"; readonly path: readonly string[]; readonly value: Json }
  | { readonly type: "append-text"; readonly path: readonly string[]; readonly value: string };

/** A message of the server. */
export type ServerFrame =
  | { readonly type: "state"; readonly state: HarnessState }
  | { readonly type: "delta"; readonly operations: readonly Operation[] }
  | { readonly type: "error"; readonly message: string };

/** A command of a client. */
export type Command =
  | { readonly type: "submit"; readonly prompt: string }
  | { readonly type: "cancel" }
  | { readonly type: "steer"; readonly message: string }
  | { readonly type: "approve"; readonly toolCallId: string; readonly optionId?: string }
  | { readonly type: "deny"; readonly toolCallId: string; readonly reason?: string; readonly optionId?: string }
  | { readonly type: "resume"; readonly sessionId: string; readonly prompt?: string }
  | { readonly type: "configure"; readonly config: { readonly [key: string]: Json } }
  | {
      readonly type: "answer";
      readonly questionId: string;
      readonly answer?: string;
      readonly approved?: boolean;
      readonly accepted?: boolean;
      readonly reason?: string;
    }
  | { readonly type: "withdraw"; readonly messageId: string }
  | { readonly type: "takeover" }
  | { readonly type: "handback" };
