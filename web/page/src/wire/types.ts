// Owns the words of the state wire: the document, its rows, the operations and the commands, as the server spells them.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export type Op =
  | { type: "set"; path: string[]; value: Json }
  | { type: "append-text"; path: string[]; value: string };

export type Frame =
  | { type: "state"; state: Json }
  | { type: "delta"; operations: Op[] }
  | { type: "error"; message: string };

export type ToolKind = "read" | "edit" | "delete" | "move" | "search" | "execute" | "think" | "fetch" | "other";
export type Place = { path: string; line?: number };
export type FileDiff = { path: string; oldText: string | null; newText: string };

export type ToolCall = {
  id: string;
  name: string;
  status: "running" | "complete" | "error";
  title: string;
  kind: ToolKind;
  at: number;
  durationMs: number | null;
  locations: Place[];
  input: Json;
  output: string;
  cut: boolean;
  diffs: FileDiff[];
  error: string | null;
  approval: null | "pending" | "approved" | "denied";
};

export type NoteKind =
  | "skill" | "reminder" | "mode" | "handoff" | "artifact" | "progress" | "compaction" | "permission" | "info";
export type Note = { kind: NoteKind; text: string; at: number };

export type Message = {
  id: string;
  role: "user" | "assistant";
  content: string;
  status: "pending" | "streaming" | "complete" | "error";
  toolCalls?: ToolCall[];
  at: number;
  thought: string;
  notes: Note[];
  steer?: boolean;
  author?: string | null;
};

export type OptionKind = "allow_once" | "allow_always" | "reject_once" | "reject_always";
export type ApprovalOption = { id: string; name: string; kind: OptionKind; scope: string };
export type Approval = {
  id: string;
  toolCallId: string;
  name: string;
  title: string;
  kind: ToolKind;
  input: Json;
  command: string | null;
  locations: Place[];
  diffs: FileDiff[];
  output: string;
  reason: string | null;
  risks: string[];
  paths: string[];
  options: ApprovalOption[];
  requestedAt: number;
  deadline: number | null;
  worker: string | null;
};

export type Question = {
  id: string;
  kind: "question" | "approval" | "dual_control" | "escalation";
  subject: string;
  detail: string | null;
  choices: string[];
  default: string | null;
  to: string | null;
  reviewers: string[];
  quorum: number;
  requestedAt: number;
  deadline: number;
  agent: string;
};

export type WorkerStatus =
  | "running" | "progressed" | "awaiting_input" | "completed" | "failed" | "stopped" | "cancelled";
export type Worker = {
  id: string;
  name: string;
  task: string;
  mode: string;
  status: WorkerStatus;
  sessionId: string | null;
  startedAt: string | null;
  finishedAt: string | null;
  error: string | null;
};

export type PlanEntry = {
  content: string;
  status: "pending" | "in_progress" | "completed";
  priority: "high" | "medium" | "low";
};
export type SlashCommand = { name: string; description: string; hint: string | null };
export type SessionOption = {
  id: string;
  name: string;
  description: string;
  value: string;
  choices: { value: string; name: string }[];
};
export type SessionInfo = {
  id: string;
  title: string | null;
  cwd: string;
  agent: string;
  createdAt: number;
  mode: string;
  modes: { id: string; name: string; description: string }[];
  options: SessionOption[];
  commands: SlashCommand[];
};
export type Usage = { used: number; size: number; cost: { amount: number; currency: string } | null };
export type Attached = { id: string; mode: "observer" | "controller"; attachedAt: string; lastSeenAt: string };

export type HarnessState = {
  status: "idle" | "running" | "error";
  messages: Message[];
  error?: string;
  session: SessionInfo;
  plan: PlanEntry[];
  workers: Worker[];
  skills: string[];
  usage: Usage | null;
  approvals: Approval[];
  questions: Question[];
  clients: Attached[];
  controller: string | null;
};

export type SessionRow = {
  id: string;
  title: string | null;
  cwd: string;
  createdAt: number;
  updatedAt: number;
  status: "running" | "waiting" | "idle" | "error" | "closed";
  controller: string | null;
  clients: number;
};
export type SessionsState = {
  sessions: SessionRow[];
  /** The directory of a new session that names none. */
  cwd: string;
  /** Prompts that show what the agent does. */
  examples: string[];
};

export type TimelineKind =
  | "prompt" | "text" | "thought" | "tool" | "permission" | "question" | "plan" | "worker" | "skill" | "reminder"
  | "control" | "client" | "setting" | "session" | "other";
export type TimelineRow = {
  seq: number;
  at: number;
  turn: string | null;
  kind: TimelineKind;
  title: string;
  text: string;
};
export type TimelinePage = { rows: TimelineRow[]; next: number | null; last: number };

export type Command =
  | { type: "submit"; prompt: string }
  | { type: "cancel" }
  | { type: "steer"; message: string }
  | { type: "approve"; toolCallId: string; optionId?: string }
  | { type: "deny"; toolCallId: string; reason?: string; optionId?: string }
  | { type: "configure"; config: Record<string, string> }
  | { type: "answer"; questionId: string; answer?: string; approved?: boolean; accepted?: boolean; reason?: string }
  | { type: "withdraw"; messageId: string }
  | { type: "takeover" }
  | { type: "handback" };
