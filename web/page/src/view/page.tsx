// Owns the layout: sessions, the session in the middle, details; drawers on narrow screens.
import { useEffect } from "preact/hooks";
import type { App } from "../app.js";
import { visibleText } from "../text/visible.js";
import type { Session } from "../wire/session.js";
import { Asks } from "./asks.js";
import { Details } from "./details.js";
import { Home } from "./home.js";
import { useTopics } from "./hooks.js";
import { PromptBox } from "./prompt.js";
import { Sessions } from "./sessions.js";
import { SignIn } from "./signin.js";
import { Timeline } from "./timeline.js";
import { Banners, Top } from "./top.js";
import { Transcript } from "./transcript.js";

export function Page({ app }: { app: App }) {
  useTopics(app, "who", "session", "route", "drawer");
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || app.drawer === null) return;
      // The key closes the drawer; it must not stop the agent as well.
      event.stopPropagation();
      app.setDrawer(null);
    };
    window.addEventListener("keydown", onKey, true);
    return () => window.removeEventListener("keydown", onKey, true);
  }, [app]);
  // Moves the focus into the opened drawer.
  useEffect(() => {
    if (app.drawer === null) return;
    const drawer = document.querySelector(app.drawer === "sessions" ? ".side" : ".details");
    drawer?.querySelector<HTMLElement>("a, button, input")?.focus();
  }, [app.drawer]);
  if (app.who.kind === "out") return <SignIn app={app} why={app.who.why} />;
  const { session } = app;
  return (
    <div class="page" data-drawer={app.drawer ?? ""}>
      <nav class="side" aria-label="Sessions">
        <Sessions app={app} />
      </nav>
      <main class="main">
        <Top app={app} session={session} />
        {session === null ? <Home app={app} /> : <Open key={session} app={app} session={session} />}
      </main>
      {session !== null && (
        <aside class="details" aria-label="Details">
          <Details session={session} />
        </aside>
      )}
      {app.drawer !== null && <button type="button" class="veil" aria-label="Close" onClick={() => app.setDrawer(null)} />}
    </div>
  );
}

function Open({ app, session }: { app: App; session: Session }) {
  useTopics(session.doc, "*");
  useTitle(session);
  useEscape(session);
  return (
    <>
      <Banners session={session} />
      {app.route.tab === "timeline" ? <Timeline app={app} session={session} /> : <Transcript app={app} session={session} />}
      <div class="bottom">
        <Asks session={session} />
        <PromptBox session={session} />
      </div>
    </>
  );
}

/** Escape stops the run, wherever the focus is in the session, unless a menu, a dialog, a select or a search field uses it. */
function useEscape(session: Session): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented || event.isComposing || event.repeat) return;
      if (!(event.target instanceof Element) || !event.target.matches("body, .main *") || event.target.matches("select, [type=search]")) return;
      if (document.querySelector(".menu, dialog[open]") !== null) return;
      if (session.state?.status !== "running" || session.heldBy !== null) return;
      event.preventDefault();
      session.send({ type: "cancel" });
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [session]);
}

/** Shows in the window's title whether the agent waits for a person. */
function useTitle(session: Session): void {
  useTopics(session.doc, "status", "approvals", "questions", "session");
  const { state } = session;
  const waiting = state !== null && state.approvals.length + state.questions.length > 0;
  const mark = waiting ? "● " : state?.status === "running" ? "… " : "";
  const title = `${mark}${visibleText(state?.session.title ?? "Agent")}`;
  useEffect(() => {
    document.title = title;
    return () => {
      document.title = "Agent";
    };
  }, [title]);
}
