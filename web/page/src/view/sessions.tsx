// Owns the list of sessions with their live status, its filter, and the foot with theme and sign-out.
import { useState } from "preact/hooks";
import type { App } from "../app.js";
import { ago, baseName, fullTime } from "../text/say.js";
import { visibleText } from "../text/visible.js";
import { formatRoute } from "../route.js";
import type { SessionRow } from "../wire/types.js";
import { useNow, useTopics } from "./hooks.js";
import { Icon } from "./icons.js";
import { Shown } from "./shown.js";

const FIRST = 100;
const WORDS: Record<SessionRow["status"], string> = {
  running: "running", waiting: "waits for you", idle: "idle", error: "failed", closed: "closed",
};

export function Sessions({ app }: { app: App }) {
  useTopics(app, "route", "session");
  useTopics(app.sessions.doc, "sessions", "link");
  const now = useNow(30_000);
  const [filter, setFilter] = useState("");
  const [most, setMost] = useState(FIRST);
  const rows = app.sessions.state?.sessions ?? [];
  const wanted = filter.trim().toLowerCase();
  const found = wanted === "" ? rows : rows.filter((row) => fits(row, wanted));
  return (
    <>
      <div class="side-top">
        <a class="button wide" href="#/" onClick={() => app.setDrawer(null)}>
          <Icon name="plus" /> New session
        </a>
        <input
          type="search"
          value={filter}
          placeholder="Filter sessions"
          aria-label="Filter sessions"
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
      </div>
      <Unconnected app={app} />
      <ul class="sessions" aria-label="Sessions">
        {found.slice(0, most).map((row) => (
          <li key={row.id}>
            <a
              href={formatRoute({ session: row.id, tab: "talk" })}
              class={`session is-${row.status}`}
              aria-current={row.id === app.session?.id ? "page" : undefined}
              title={`${visibleText(row.cwd)}\n${fullTime(row.updatedAt)}`}
              onClick={() => app.setDrawer(null)}
            >
              <span class="dot" />
              <span class="session-title">
                <Shown text={row.title ?? "Untitled"} as="line" />
              </span>
              <span class="session-time">{ago(row.updatedAt, now)}</span>
              <span class="session-where">
                <Shown text={baseName(row.cwd)} as="line" />
                {row.status !== "idle" && row.status !== "closed" && <em> · {WORDS[row.status]}</em>}
                <span class="sr-only">, {WORDS[row.status]}</span>
              </span>
            </a>
          </li>
        ))}
        {found.length === 0 && <li class="muted pad">{app.sessions.state === null ? (app.sessions.link.state.kind === "refused" ? "" : "Loading…") : wanted === "" ? "No sessions yet" : "No matches"}</li>}
        {found.length > most && (
          <li>
            <button type="button" class="quiet wide" onClick={() => setMost(most + FIRST)}>
              {found.length - most} more
            </button>
          </li>
        )}
      </ul>
      <SideFoot app={app} />
    </>
  );
}

function Unconnected({ app }: { app: App }) {
  const link = app.sessions.link.state;
  if (link.kind === "away") return <p class="muted pad" role="status">No connection to the server</p>;
  if (link.kind !== "refused") return null;
  return (
    <p class="muted pad" role="alert">
      <Shown text={link.why} as="line" /> <button type="button" class="small" onClick={() => app.sessions.link.retry()}>Retry</button>
    </p>
  );
}

function fits(row: SessionRow, wanted: string): boolean {
  return `${row.title ?? ""}\n${row.cwd}\n${row.id}\n${row.status}`.toLowerCase().includes(wanted);
}

const NEXT = { system: "light", light: "dark", dark: "system" } as const;
const THEMES = { system: "Theme: as the system", light: "Theme: light", dark: "Theme: dark" } as const;

function SideFoot({ app }: { app: App }) {
  useTopics(app, "theme", "who");
  const principal = app.who.kind === "in" ? app.who.principal : "";
  return (
    <footer class="side-foot">
      <span class="muted" title="Signed in as">{principal && <Shown text={principal} as="line" />}</span>
      <button type="button" class="quiet" title={THEMES[app.theme]} aria-label={THEMES[app.theme]} onClick={() => app.setTheme(NEXT[app.theme])}>
        <Icon name="theme" /> {app.theme === "system" ? "auto" : app.theme}
      </button>
      <button type="button" class="quiet" title="Sign out" aria-label="Sign out" onClick={() => void app.leave()}>
        <Icon name="leave" />
      </button>
    </footer>
  );
}
