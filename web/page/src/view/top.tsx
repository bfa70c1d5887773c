// Owns the head of a session: title, status and tabs; and the banners below it, which report problems.
import { useState } from "preact/hooks";
import type { App } from "../app.js";
import { duration } from "../text/say.js";
import type { Session } from "../wire/session.js";
import { useNow, useTopics } from "./hooks.js";
import { Icon } from "./icons.js";
import { Shown } from "./shown.js";

export function Top({ app, session }: { app: App; session: Session | null }) {
  return (
    <header class="top">
      <button type="button" class="quiet only-narrow" aria-label="Sessions" onClick={() => app.setDrawer(app.drawer === "sessions" ? null : "sessions")}>
        <Icon name="menu" />
      </button>
      {session ? <SessionTop app={app} session={session} /> : <h1>Agent</h1>}
    </header>
  );
}

function SessionTop({ app, session }: { app: App; session: Session }) {
  useTopics(session.doc, "session", "status", "approvals", "questions", "controller", "link");
  useTopics(app, "route");
  const [renaming, setRenaming] = useState<string | null>(null);
  const state = session.state;
  const title = state?.session.title ?? (state ? "Untitled session" : "…");
  const rename = (event: Event) => {
    event.preventDefault();
    const name = renaming?.trim() ?? "";
    if (name === "" || name === state?.session.title || session.send({ type: "configure", config: { title: name } })) setRenaming(null);
  };
  return (
    <>
      {renaming === null ? (
        <h1>
          <button type="button" class="title" disabled={state === null || session.heldBy !== null} title="Rename" onClick={() => setRenaming(state?.session.title ?? "")}>
            <Shown text={title} as="line" />
          </button>
        </h1>
      ) : (
        <form class="rename" onSubmit={rename}>
          <input
            autoFocus
            value={renaming}
            aria-label="Title"
            onInput={(event) => setRenaming(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "Escape") return;
              event.preventDefault();
              setRenaming(null);
            }}
            onBlur={() => setRenaming(null)}
          />
        </form>
      )}
      <Status session={session} />
      <nav class="tabs" aria-label="Views">
        <button type="button" aria-pressed={app.route.tab === "talk"} onClick={() => app.showTab("talk")}>Conversation</button>
        <button type="button" aria-pressed={app.route.tab === "timeline"} onClick={() => app.showTab("timeline")}>Timeline</button>
      </nav>
      <button type="button" class="quiet only-not-wide" aria-label="Details" onClick={() => app.setDrawer(app.drawer === "details" ? null : "details")}>
        <Icon name="panel" />
      </button>
    </>
  );
}

function Status({ session }: { session: Session }) {
  const state = session.state;
  const away = session.link.state.kind !== "open";
  const waiting = state !== null && state.approvals.length + state.questions.length > 0;
  const [word, tone] = away
    ? (["offline", "closed"] as const)
    : state === null
      ? (["loading", "closed"] as const)
      : waiting
        ? ([session.heldBy === null ? "waits for you" : "waits for an answer", "waiting"] as const)
        : ([state.status, state.status] as const);
  return (
    <span class={`status is-${tone}`} role="status" aria-live="polite">
      <span class="dot" /> {word}
    </span>
  );
}

export function Banners({ session }: { session: Session }) {
  useTopics(session.doc, "link", "notices", "status", "error");
  const { state } = session;
  return (
    <div class="banners" aria-live="polite">
      <Connection session={session} />
      {state?.status === "error" && (
        <p class="banner failed">
          <Icon name="warn" /> <span><Shown text={state.error ?? "The last run failed."} as="block" /></span>
        </p>
      )}
      {session.notices.map(({ id, text }) => (
        <p class="banner" key={id} role="alert">
          <span><Shown text={text} as="block" /></span>
          <button type="button" class="quiet small" aria-label="Dismiss" onClick={() => session.dismiss(id)}><Icon name="close" /></button>
        </p>
      ))}
    </div>
  );
}

function Connection({ session }: { session: Session }) {
  const link = session.link.state;
  const lost = link.kind === "away" || (link.kind === "connecting" && link.since !== null);
  const now = useNow(1_000, lost);
  if (link.kind === "refused") {
    return (
      <p class="banner failed" role="alert">
        <Icon name="warn" /> <span><Shown text={link.why} as="line" /></span>
        <button type="button" class="small" onClick={() => session.link.retry()}>Retry</button>
      </p>
    );
  }
  if (!lost) return null;
  const left = link.kind === "away" ? Math.max(0, Math.ceil((link.retryAt - now) / 1_000)) : 0;
  return (
    <p class="banner away">
      <span class="dot" />
      <span>
        No connection for {duration(Math.max(0, now - (link.since ?? now)))}. {left > 0 ? `Next try in ${left} s.` : "Trying…"} What you write is kept.
      </span>
      <button type="button" class="small" onClick={() => session.link.retry()}>Try now</button>
    </p>
  );
}
