// Owns the area above the prompt box where the agent asks: one open approval or question at a time, oldest first.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { duration } from "../text/say.js";
import { visibleText } from "../text/visible.js";
import type { Session } from "../wire/session.js";
import { ApprovalCard } from "./approval.js";
import { useNow, useTopics } from "./hooks.js";
import { Icon } from "./icons.js";
import { QuestionCard } from "./question.js";

const ARMED_AFTER = 350;

export function Asks({ session }: { session: Session }) {
  useTopics(session.doc, "approvals", "questions", "controller", "link");
  const { approvals = [], questions = [] } = session.state ?? {};
  const open = [...approvals, ...questions];
  const [chosen, setChosen] = useState<string | null>(null);
  const at = Math.max(0, open.findIndex(({ id }) => id === chosen));
  const shown = open[at]?.id;
  const ids = open.map(({ id }) => id);
  const armed = useArmed(`${ids.join()} ${shown}`);
  const refusal = whyNot(session, armed);
  useFocusAfter(ids);
  const step = (by: number) => setChosen(ids[(at + by + ids.length) % ids.length] ?? null);
  const approval = approvals.find(({ id }) => id === shown);
  const question = questions.find(({ id }) => id === shown);
  return (
    <section class="asks" aria-label="The agent asks" data-open={open.length > 0}>
      <p class="sr-only" role="status" aria-live="assertive">
        {approval ? `Permission needed: ${visibleText(approval.title)}` : question ? `Question: ${visibleText(question.subject)}` : ""}
      </p>
      {open.length > 1 && (
        <div class="asks-steps">
          <span>Question {at + 1} of {open.length}</span>
          <button type="button" class="quiet small" aria-label="Previous question" onClick={() => step(-1)}><Icon name="back" /></button>
          <button type="button" class="quiet small" aria-label="Next question" onClick={() => step(1)}><Icon name="chevron" /></button>
        </div>
      )}
      {approval && <ApprovalCard key={approval.id} approval={approval} session={session} refusal={refusal} />}
      {question && <QuestionCard key={question.id} question={question} session={session} able={refusal === null} />}
    </section>
  );
}

/** The reason why no answer is possible now; null when one is. */
function whyNot(session: Session, armed: boolean): string | null {
  const { heldBy } = session;
  if (heldBy !== null) return `${visibleText(heldBy)} controls this session.`;
  if (session.link.state.kind !== "open") return "There is no connection to the server.";
  return armed ? null : "The question has only just appeared. Press the key again.";
}

/** The time until a question answers itself. */
export function Countdown({ deadline }: { deadline: number | null }) {
  const now = useNow(1_000, deadline !== null);
  if (deadline === null) return null;
  const left = Math.max(0, Math.ceil((deadline - now) / 1_000) * 1_000);
  return (
    <span class="countdown" data-soon={left < 30_000} title="Without an answer, the agent's request is rejected or the agent continues">
      {left === 0 ? "time is up" : `${longTime(left)} left`}
    </span>
  );
}

function longTime(ms: number): string {
  if (ms >= 7_200_000) return `${Math.round(ms / 3_600_000)} h`;
  return ms >= 600_000 ? `${Math.round(ms / 60_000)} min` : duration(ms);
}

/**
 * Cards take no answer in the first moment after a card appears or disappears: a click or key for something else,
 * the second of a double click for instance, must not decide about a card that has just moved under it.
 */
function useArmed(cards: string): boolean {
  const [armed, setArmed] = useState<string | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => setArmed(cards), ARMED_AFTER);
    return () => clearTimeout(timer);
  }, [cards]);
  return armed === cards;
}

/** When a card with the focus disappears, the next card gets the focus (not one of its buttons), or else the prompt box. */
function useFocusAfter(ids: string[]): void {
  const before = useRef(ids);
  useEffect(() => {
    const went = before.current.some((id) => !ids.includes(id));
    before.current = ids;
    // On a phone, focus on the box would open the keyboard.
    if (!went || document.activeElement !== document.body || !matchMedia("(hover: hover)").matches) return;
    document.querySelector<HTMLElement>(ids.length > 0 ? ".asks .card" : ".prompt textarea")?.focus();
  }, [ids.join()]);
}

type AnswerProps = {
  tone: "allow" | "allow lasting" | "reject" | "reject lasting" | "plain";
  letter?: string;
  title?: string;
  able: boolean;
  onClick: () => void;
  children: ComponentChildren;
};

export function AnswerButton({ tone, letter, title, able, onClick, children }: AnswerProps) {
  return (
    <button type="button" class={`answer-button ${tone}`} title={title} aria-keyshortcuts={letter} aria-disabled={!able} onClick={() => able && onClick()}>
      {letter !== undefined && <kbd aria-hidden="true">{letter}</kbd>}
      {children}
    </button>
  );
}
