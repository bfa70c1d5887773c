// Owns the card with a question to a person: a choice, free text, an approval, or a handoff.
import { useState } from "preact/hooks";
import { visibleText } from "../text/visible.js";
import type { Session } from "../wire/session.js";
import type { Command, Question } from "../wire/types.js";
import { AnswerButton, Countdown } from "./asks.js";
import { Shown } from "./shown.js";

type Props = { question: Question; session: Session; able: boolean };
type Answer = Omit<Extract<Command, { type: "answer" }>, "type" | "questionId">;

const KINDS: Record<Question["kind"], string> = {
  question: "Question", approval: "Approval", dual_control: "Approval by several", escalation: "Handed to a person",
};

export function QuestionCard({ question, session, able }: Props) {
  const [answered, setAnswered] = useState(false);
  const ready = able && !answered;
  const send = (answer: Answer) => {
    if (!session.send({ type: "answer", questionId: question.id, ...answer })) return;
    setAnswered(true);
    setTimeout(() => setAnswered(false), 2_000);
  };
  return (
    <article class="card question" tabIndex={-1} aria-label={`${KINDS[question.kind]}: ${visibleText(question.subject)}`}>
      <header class="card-head">
        <h3><Shown text={question.subject} as="line" /></h3>
        <span class="muted">
          {KINDS[question.kind]} · <Shown text={question.agent} as="line" />
          {question.to !== null && <> · for <Shown text={question.to} as="line" /></>}
        </span>
        <Countdown deadline={question.deadline} />
      </header>
      <div class="card-body" tabIndex={question.detail === null ? undefined : 0} role="group" aria-label="What it is about">
        {question.detail !== null && <p class="plain"><Shown text={question.detail} as="block" /></p>}
        {question.reviewers.length > 0 && (
          <p class="muted">
            Needs {question.quorum} of <Shown text={question.reviewers.join(", ")} as="line" />
          </p>
        )}
      </div>
      <footer class="card-foot">
        {question.kind === "question" ? (
          <Words question={question} ready={ready} send={send} />
        ) : (
          <YesNo question={question} ready={ready} send={send} />
        )}
      </footer>
    </article>
  );
}

type PartProps = { question: Question; ready: boolean; send: (answer: Answer) => void };

function Words({ question, ready, send }: PartProps) {
  const [text, setText] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    if (ready && text.trim() !== "") send({ answer: text });
  };
  return (
    <>
      {question.choices.length > 0 && (
        <div class="answers">
          {question.choices.map((choice) => (
            <AnswerButton key={choice} tone="plain" able={ready} onClick={() => send({ answer: choice })}>
              <Shown text={choice} as="line" />
              {choice === question.default && <span class="scope">if nothing is said</span>}
            </AnswerButton>
          ))}
        </div>
      )}
      <form class="free" onSubmit={submit}>
        <input
          class="reason"
          value={text}
          placeholder={question.choices.length > 0 ? "Or in your own words" : (question.default === null ? "Your answer" : visibleText(question.default))}
          aria-label="Your answer"
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button type="submit" class="answer-button plain" aria-disabled={!ready || text.trim() === ""}>Answer</button>
      </form>
    </>
  );
}

function YesNo({ question, ready, send }: PartProps) {
  const [reason, setReason] = useState("");
  const why = reason.trim() === "" ? {} : { reason: reason.trim() };
  const handed = question.kind === "escalation";
  const say = (yes: boolean) => send({ ...(handed ? { accepted: yes } : { approved: yes }), ...why });
  return (
    <>
      <input
        class="reason"
        value={reason}
        placeholder="A reason (optional)"
        aria-label="Reason"
        onInput={(event) => setReason(event.currentTarget.value)}
      />
      <div class="answers">
        <AnswerButton tone="allow" able={ready} onClick={() => say(true)}>{handed ? "Accept" : "Approve"}</AnswerButton>
        <AnswerButton tone="reject" able={ready} onClick={() => say(false)}>{handed ? "Decline" : "Refuse"}</AnswerButton>
      </div>
    </>
  );
}
