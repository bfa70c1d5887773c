// Owns the place above the prompt box where the agent asks: open approvals and questions, oldest first.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { duration } from "../text/say.js";
import { visibleText } from "../text/visible.js";
import type { Session } from "../wire/session.js";
import { ApprovalCard } from "./approval.js";
import { useNow, useTopics } from "./hooks.js";
import { QuestionCard } from "./question.js";

const ARMED_AFTER = 350;

export function Asks({ session }: { session: Session }) {
  useTopics(session.doc, "approvals", "questions", "controller", "link");
  const { approvals = [], questions = [] } = session.state ?? {};
  const open = approvals.length + questions.length;
  const heldBy = session.heldBy;
  const able = heldBy === null && session.link.state.kind === "open";
  const ids = [...approvals, ...questions].map(({ id }) => id);
  const armed = useArmed(ids.join());
  useFocusAfter(ids);
  return (
    <section class="asks" aria-label="The agent asks" data-open={open > 0}>
      <p class="sr-only" role="status" aria-live="assertive">
        {open === 0 ? "" : approvals.length > 0 ? `Permission needed: ${visibleText(approvals[0]!.title)}` : `Question: ${visibleText(questions[0]!.subject)}`}
      </p>
      {open > 1 && <p class="asks-count">{open} open questions</p>}
      {approvals.map((approval) => (
        <ApprovalCard key={approval.id} approval={approval} session={session} able={able && armed} />
      ))}
      {questions.map((question) => (
        <QuestionCard key={question.id} question={question} session={session} able={able && armed} />
      ))}
    </section>
  );
}

/** What is left until a question answers itself. */
export function Countdown({ deadline }: { deadline: number | null }) {
  const now = useNow(1_000, deadline !== null);
  if (deadline === null) return null;
  const left = Math.max(0, Math.ceil((deadline - now) / 1_000) * 1_000);
  return (
    <span class="countdown" data-soon={left < 30_000} title="Without an answer it is refused or goes on by itself">
      {left === 0 ? "time is up" : `${longTime(left)} left`}
    </span>
  );
}

function longTime(ms: number): string {
  if (ms >= 7_200_000) return `${Math.round(ms / 3_600_000)} h`;
  return ms >= 600_000 ? `${Math.round(ms / 60_000)} min` : duration(ms);
}

/**
 * Cards take no answer in the first moment after one came or went: a click or key that was meant for something else,
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

/** A card that goes takes the focus with it: the next one gets it, not one of its buttons, or else the prompt box. */
function useFocusAfter(ids: string[]): void {
  const before = useRef(ids);
  useEffect(() => {
    const went = before.current.some((id) => !ids.includes(id));
    before.current = ids;
    // On a phone the box would bring up the keyboard.
    if (!went || document.activeElement !== document.body || !matchMedia("(hover: hover)").matches) return;
    document.querySelector<HTMLElement>(ids.length > 0 ? ".asks .card" : ".prompt textarea")?.focus();
  }, [ids.join()]);
}

type AnswerProps = { tone: "allow" | "allow lasting" | "reject" | "plain"; able: boolean; onClick: () => void; children: ComponentChildren };

export function AnswerButton({ tone, able, onClick, children }: AnswerProps) {
  return (
    <button type="button" class={`answer-button ${tone}`} aria-disabled={!able} onClick={() => able && onClick()}>
      {children}
    </button>
  );
}
