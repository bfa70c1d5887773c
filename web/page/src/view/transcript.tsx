// Owns the transcript: the messages as a list that follows its end, and a button to return to the end.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { App } from "../app.js";
import { writeDraft } from "../wire/kept.js";
import type { Session } from "../wire/session.js";
import type { Message } from "../wire/types.js";
import { Folds } from "./folds.js";
import { Examples } from "./home.js";
import { useTopics } from "./hooks.js";
import { Icon } from "./icons.js";
import { List, type ListHandle } from "./list.js";
import { MessageView } from "./message.js";
import { Shown } from "./shown.js";

export function Transcript({ app, session }: { app: App; session: Session }) {
  useTopics(session.doc, "messages", "controller", "session", "said");
  useTopics(app, "jump");
  const folds = useMemo(() => new Folds(), [session]);
  const list = useRef<ListHandle>(null);
  const [atEnd, setAtEnd] = useState(true);
  const [flash, setFlash] = useState<string | null>(null);
  const state = session.state;
  const messages = state?.messages ?? [];

  // After sending a message, the user wants to see it and the answer.
  const said = session.doc.version("said");
  useEffect(() => {
    if (said > 0) list.current?.end();
  }, [said]);
  useEffect(() => {
    if (app.jumpTo === null || messages.length === 0) return;
    const index = messageAt(messages, app.jumpTo);
    app.jumpTo = null;
    list.current?.show(index);
    setFlash(messages[index]!.id);
    const timer = setTimeout(() => setFlash(null), 2_000);
    return () => clearTimeout(timer);
  });

  if (state === null) return <div class="list placeholder" aria-busy="true" />;
  if (messages.length === 0) {
    return <Beginning app={app} session={session} />;
  }
  const withdraw = session.heldBy === null ? withdrawal(session) : null;
  const row = (index: number) => {
    const message = messages[index];
    if (message === undefined) return null;
    return (
      <MessageView
        key={message.id}
        message={message}
        version={session.doc.rowVersion(index)}
        first={messages[index - 1]?.role !== "assistant"}
        agent={state.session.agent}
        sessionId={state.session.id}
        folds={folds}
        withdraw={message.status === "pending" ? withdraw : null}
        flash={flash === message.id}
      />
    );
  };
  return (
    <div class="transcript">
      <List count={messages.length} estimate={96} label="Conversation" row={row} from="end" handle={list} onEnd={setAtEnd} />
      {!atEnd && (
        <button type="button" class="jump" onClick={() => list.current?.end()}>
          <Icon name="down" /> Jump to latest
        </button>
      )}
    </div>
  );
}

/** A session without messages: its folder, and examples for the box below. */
function Beginning({ app, session }: { app: App; session: Session }) {
  useTopics(app.sessions.doc, "examples");
  const pick = (example: string) => {
    writeDraft(session.id, example);
    session.doc.touch("draft");
    document.querySelector<HTMLElement>(".prompt textarea")?.focus();
  };
  return (
    <div class="list placeholder">
      <p class="muted">No messages yet. Write below what the agent should do.</p>
      <p class="muted">Folder <code><Shown text={session.state?.session.cwd ?? ""} as="line" /></code></p>
      {session.heldBy === null && <Examples examples={app.sessions.state?.examples ?? []} onPick={pick} />}
    </div>
  );
}

/** One function per session, so that rows get the same one each time. */
const withdrawals = new WeakMap<Session, (id: string) => void>();
function withdrawal(session: Session): (id: string) => void {
  let known = withdrawals.get(session);
  if (!known) {
    known = (messageId) => void session.send({ type: "withdraw", messageId });
    withdrawals.set(session, known);
  }
  return known;
}

/** The message with exactly that time, or the last one that began before it. */
export function messageAt(messages: Message[], at: number): number {
  let found = 0;
  for (let i = 0; i < messages.length; i++) {
    if (messages[i]!.status === "pending") break;
    if (messages[i]!.at <= at) found = i;
  }
  return found;
}
