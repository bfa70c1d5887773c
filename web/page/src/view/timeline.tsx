// Owns the timeline tab: all events in order, with a search, a filter and links to the messages.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { App } from "../app.js";
import { clock, count, fullTime } from "../text/say.js";
import type { Session } from "../wire/session.js";
import { TimelineRows } from "../wire/timeline.js";
import type { TimelineKind, TimelineRow } from "../wire/types.js";
import { useTopics } from "./hooks.js";
import { List } from "./list.js";
import { memo } from "./memo.js";
import { Shown } from "./shown.js";

const KINDS: TimelineKind[] = [
  "prompt", "text", "thought", "tool", "permission", "question", "plan", "worker", "skill", "reminder", "control", "client",
  "setting", "session", "other",
];
/** The shortest interval between two fetches of the tail. */
const REFRESH = 1_000;

export function Timeline({ app, session }: { app: App; session: Session }) {
  useTopics(session.doc, "session");
  const id = session.state?.session.id ?? session.id ?? "";
  const source = useMemo(() => new TimelineRows(id), [id]);
  useTopics(source, "rows");
  const [typed, setTyped] = useState("");
  const [kind, setKind] = useState<TimelineKind | "">("");
  const query = useSettled(typed.trim(), 250);

  useEffect(() => {
    if (id !== "") void source.search(query);
  }, [source, query]);
  useTail(session, () => void source.refresh(query), [source, query]);

  const rows = kind === "" ? source.rows : source.rows.filter((row) => row.kind === kind);
  const jump = useMemo(() => (row: TimelineRow) => app.showMessageAt(row.at), [app]);
  return (
    <div class="timeline">
      <div class="timeline-bar">
        <input type="search" value={typed} placeholder="Search the timeline" aria-label="Search the timeline" onInput={(event) => setTyped(event.currentTarget.value)} />
        <select value={kind} aria-label="Kind" onChange={(event) => setKind(event.currentTarget.value as TimelineKind | "")}>
          <option value="">all kinds</option>
          {KINDS.map((name) => <option key={name} value={name}>{name}</option>)}
        </select>
        <span class="muted" role="status">{source.loading ? "Loading…" : count(rows.length, "row")}</span>
      </div>
      {source.error !== null && <p class="banner failed">{source.error}</p>}
      {rows.length > 0 ? (
        <List
          key={`${query}/${kind}`}
          count={rows.length}
          estimate={34}
          label="Timeline"
          from="end"
          class="timeline-list"
          row={(index) => <Row row={rows[index]!} size={rows[index]!.text.length} onJump={jump} />}
        />
      ) : (
        <div class="list placeholder"><p class="muted">{source.loading ? "" : "No matches."}</p></div>
      )}
      {source.next !== null && !source.loading && (
        <button type="button" class="quiet wide" onClick={() => void source.more(query)}>Load more</button>
      )}
    </div>
  );
}

type RowProps = { row: TimelineRow; size: number; onJump: (row: TimelineRow) => void };

const Row = memo(function Row({ row, onJump }: RowProps) {
  return (
    <button type="button" class={`event is-${row.kind}`} onClick={() => onJump(row)} title={`${fullTime(row.at)} · event ${row.seq}`}>
      <time>{clock(row.at, true)}</time>
      <span class="event-kind">{row.kind}</span>
      <span class="event-words">
        <span class="event-title"><Shown text={row.title} as="line" /></span>
        {row.text !== "" && row.text !== row.title && <span class="event-text"><Shown text={row.text.slice(0, 400).replace(/\s+/g, " ")} as="line" /></span>}
      </span>
    </button>
  );
});

/** The value after it has not changed for this time. */
function useSettled<T>(value: T, after: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    if (value === settled) return;
    const timer = setTimeout(() => setSettled(value), after);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

const WATCHED = ["messages", "status", "plan", "workers", "skills", "usage", "approvals", "questions", "clients", "controller", "session", "*"];

/** Calls `refresh` when the document changes, at most once per interval. */
function useTail(session: Session, refresh: () => void, deps: unknown[]): void {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    let last = Date.now();
    const stop = session.doc.on(WATCHED, () => {
      if (timer.current !== undefined) return;
      timer.current = setTimeout(() => {
        timer.current = undefined;
        last = Date.now();
        refresh();
      }, Math.max(0, last + REFRESH - Date.now()));
    });
    return () => {
      stop();
      clearTimeout(timer.current);
      timer.current = undefined;
    };
  }, [session, ...deps]);
}
