// Checks a document from the wire against the types: each field, and the names of each closed set.

import type {
  Approval,
  ApprovalOption,
  HarnessClient,
  HarnessDiff,
  HarnessMessage,
  HarnessNote,
  HarnessSession,
  HarnessState,
  HarnessToolCall,
  HarnessWorker,
  PlanEntry,
  Question,
} from "../src/index.js";

type Check = (value: unknown, path: string) => void;

function fail(path: string, wanted: string, value: unknown): never {
  throw new Error(`${path || "the document"} should be ${wanted}, not ${JSON.stringify(value)}`);
}

const is = (type: string): Check => (value, path) => void (typeof value === type || fail(path, `a ${type}`, value));
const text = is("string");
const number = is("number");
const flag = is("boolean");
const json: Check = (value, path) => void (value !== undefined || fail(path, "there", value));
const orNull = (check: Check): Check => (value, path) => void (value === null || check(value, path));
const oneOf =
  <T extends string>(...names: readonly T[]): Check =>
  (value, path) =>
    void (names.includes(value as T) || fail(path, `one of ${names.join(", ")}`, value));
const listOf =
  (check: Check): Check =>
  (value, path) => {
    if (!Array.isArray(value)) fail(path, "an array", value);
    value.forEach((item, index) => check(item, `${path}/${index}`));
  };
// The compiler checks that every field of the type is here, the test run that there is no other one.
const object =
  <T>(fields: { readonly [K in keyof Required<T>]: Check }, optional: readonly (keyof T & string)[] = []): Check =>
  (value, path) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) fail(path, "an object", value);
    for (const key of Object.keys(value)) if (!(key in fields)) fail(`${path}/${key}`, "absent", (value as any)[key]);
    for (const [key, check] of Object.entries<Check>(fields)) {
      if (!(key in value) && (optional as readonly string[]).includes(key)) continue;
      check((value as Record<string, unknown>)[key], `${path}/${key}`);
    }
  };

const named = object<{ id: string; name: string; description: string }>({ id: text, name: text, description: text });
const kind = oneOf("read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other");
const location = object<{ path: string; line?: number }>({ path: text, line: number }, ["line"]);
const diff = object<HarnessDiff>({ path: text, oldText: orNull(text), newText: text });

const toolCall = object<HarnessToolCall>({
  id: text,
  name: text,
  status: oneOf("running", "complete", "error"),
  title: text,
  kind,
  at: number,
  durationMs: orNull(number),
  locations: listOf(location),
  input: json,
  output: text,
  cut: flag,
  diffs: listOf(diff),
  error: orNull(text),
  approval: orNull(oneOf("pending", "approved", "denied")),
});

const note = object<HarnessNote>({
  kind: oneOf("skill", "reminder", "mode", "handoff", "artifact", "progress", "compaction", "permission", "info"),
  text,
  at: number,
});

const message: Check = (value, path) => {
  const ofUser = (value as HarnessMessage | null)?.role === "user";
  object<HarnessMessage>(
    {
      id: text,
      role: oneOf("user", "assistant"),
      content: text,
      status: oneOf("pending", "streaming", "complete", "error"),
      toolCalls: listOf(toolCall),
      at: number,
      thought: text,
      notes: listOf(note),
      steer: flag,
      author: orNull(text),
    },
    ofUser ? ["toolCalls"] : ["steer", "author"],
  )(value, path);
};

const approval = object<Approval>({
  id: text,
  toolCallId: text,
  name: text,
  title: text,
  kind,
  input: json,
  command: orNull(text),
  locations: listOf(location),
  diffs: listOf(diff),
  output: text,
  reason: orNull(text),
  risks: listOf(text),
  paths: listOf(text),
  options: listOf(
    object<ApprovalOption>({
      id: text,
      name: text,
      kind: oneOf("allow_once", "allow_always", "reject_once", "reject_always"),
      scope: text,
    }),
  ),
  requestedAt: number,
  deadline: orNull(number),
  worker: orNull(text),
});

const question = object<Question>({
  id: text,
  kind: oneOf("question", "approval", "dual_control", "escalation"),
  subject: text,
  detail: orNull(text),
  choices: listOf(text),
  default: orNull(text),
  to: orNull(text),
  reviewers: listOf(text),
  quorum: number,
  requestedAt: number,
  deadline: number,
  agent: text,
});

const session = object<HarnessSession>({
  id: text,
  title: orNull(text),
  cwd: text,
  agent: text,
  createdAt: number,
  mode: text,
  modes: listOf(named),
  options: listOf(
    object<HarnessSession["options"][number]>({
      id: text,
      name: text,
      description: text,
      value: text,
      choices: listOf(object<{ value: string; name: string }>({ value: text, name: text })),
    }),
  ),
  commands: listOf(object<HarnessSession["commands"][number]>({ name: text, description: text, hint: orNull(text) })),
});

const worker = object<HarnessWorker>({
  id: text,
  name: text,
  task: text,
  mode: text,
  status: oneOf("running", "progressed", "awaiting_input", "completed", "failed", "stopped", "cancelled"),
  sessionId: orNull(text),
  startedAt: orNull(text),
  finishedAt: orNull(text),
  error: orNull(text),
});

const document = object<HarnessState>(
  {
    status: oneOf("idle", "running", "error"),
    messages: listOf(message),
    error: text,
    session,
    plan: listOf(
      object<PlanEntry>({
        content: text,
        status: oneOf("pending", "in_progress", "completed"),
        priority: oneOf("high", "medium", "low"),
      }),
    ),
    workers: listOf(worker),
    skills: listOf(text),
    usage: orNull(
      object<NonNullable<HarnessState["usage"]>>({
        used: number,
        size: number,
        cost: orNull(object<{ amount: number; currency: string }>({ amount: number, currency: text })),
      }),
    ),
    approvals: listOf(approval),
    questions: listOf(question),
    clients: listOf(
      object<HarnessClient>({ id: text, mode: oneOf("observer", "controller"), attachedAt: text, lastSeenAt: text }),
    ),
    controller: orNull(text),
  },
  ["error"],
);

/** Throws, naming the field, unless this is a document that harn-serve may send. */
export function checkState(value: unknown): asserts value is HarnessState {
  document(value, "");
  const state = value as HarnessState;
  if ((state.status === "error") !== (state.error !== undefined)) fail("/error", "there while the status is error", state.error);
  const ids = state.messages.map(({ id }) => id);
  if (new Set(ids).size !== ids.length) fail("/messages", "of different ids", ids);
  const firstPending = state.messages.findIndex(({ status }) => status === "pending");
  const after = firstPending === -1 ? [] : state.messages.slice(firstPending);
  if (after.some(({ status }) => status !== "pending")) fail("/messages", "with those that wait last", after.map(({ id }) => id));
}
