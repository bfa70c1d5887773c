// Owns the tree of workers. The page observes the session of a worker while the worker is unfolded.
import { useEffect, useMemo, useState } from "preact/hooks";
import { duration } from "../text/say.js";
import { Session } from "../wire/session.js";
import type { HarnessState, Message, Worker, WorkerStatus } from "../wire/types.js";
import { useTopics } from "./hooks.js";
import { Icon } from "./icons.js";
import { Shown } from "./shown.js";

const WORDS: Record<WorkerStatus, string> = {
  running: "running", progressed: "running", awaiting_input: "waits", completed: "done", failed: "failed",
  stopped: "stopped", cancelled: "cancelled",
};

/** `path` has the parent sessions, so that a cycle in hostile data ends. */
export function Workers({ workers, path }: { workers: Worker[]; path: string[] }) {
  return (
    <ul class="workers">
      {workers.map((worker) => <WorkerNode key={worker.id} worker={worker} path={path} />)}
    </ul>
  );
}

function WorkerNode({ worker, path }: { worker: Worker; path: string[] }) {
  const [open, setOpen] = useState(false);
  const within = worker.sessionId !== null && !path.includes(worker.sessionId) ? worker.sessionId : null;
  return (
    <li class={`worker is-${worker.status}`}>
      <button type="button" class="worker-head" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name="chevron" turns />
        <span class="dot" />
        <span class="worker-name"><Shown text={worker.name} as="line" /></span>
        <span class="muted">{WORDS[worker.status] ?? worker.status}{took(worker)}</span>
      </button>
      {open && (
        <div class="worker-body">
          <p class="worker-task"><Shown text={worker.task} as="prose" /></p>
          {worker.error !== null && <p class="tool-error"><Shown text={worker.error} as="block" /></p>}
          {within !== null ? <Watched id={within} path={path} /> : <p class="muted">It has no session to show.</p>}
        </div>
      )}
    </li>
  );
}

function took({ startedAt, finishedAt }: Worker): string {
  if (startedAt === null || finishedAt === null) return "";
  const ms = time(finishedAt) - time(startedAt);
  return Number.isFinite(ms) && ms >= 0 ? ` · ${duration(ms)}` : "";
}

/** Seconds since the epoch, or a date in words. */
function time(text: string): number {
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1_000 : Date.parse(text);
}

function Watched({ id, path }: { id: string; path: string[] }) {
  const session = useMemo(() => new Session({ id, client: null }), [id]);
  useEffect(() => {
    session.link.start();
    return () => session.link.stop();
  }, [session]);
  useTopics(session.doc, "messages", "workers", "status", "link");
  const { state } = session;
  if (state === null) {
    return <p class="muted">{session.link.state.kind === "away" ? "Cannot be watched now." : "Looking…"}</p>;
  }
  return (
    <>
      <LastLines state={state} />
      {state.workers.length > 0 && <Workers workers={state.workers} path={[...path, id]} />}
    </>
  );
}

const LINES = 6;

function LastLines({ state }: { state: HarnessState }) {
  const lines: { text: string; call: boolean }[] = [];
  for (let at = state.messages.length - 1; at >= 0 && lines.length < LINES; at--) lines.unshift(...linesOf(state.messages[at]!));
  if (lines.length === 0) return <p class="muted">No messages yet.</p>;
  return (
    <div class="worker-lines" aria-label="Its last lines">
      {lines.slice(-LINES).map((line) => (
        <p class={line.call ? "call" : ""}><Shown text={line.text} as="line" /></p>
      ))}
    </div>
  );
}

function linesOf(message: Message): { text: string; call: boolean }[] {
  if (message.role === "user") return [];
  const words = message.content.slice(-2_000).split("\n").filter((line) => line.trim() !== "").slice(-LINES);
  const calls = (message.toolCalls ?? []).slice(-LINES);
  return [
    ...words.map((text) => ({ text: text.slice(-300), call: false })),
    ...calls.map((call) => ({ text: `${call.title || call.name} · ${call.status}`, call: true })),
  ];
}
