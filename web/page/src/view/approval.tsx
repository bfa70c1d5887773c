// Owns the card that asks for permission: the exact action, its author, the reason, and a button and a key for each answer.
import { useCallback, useState } from "preact/hooks";
import { allows, answerOf, answersOf, characterOf, lasts, type Answer } from "../permission.js";
import { visibleText } from "../text/visible.js";
import type { Session } from "../wire/session.js";
import type { Approval, ApprovalOption } from "../wire/types.js";
import { AnswerButton, Countdown } from "./asks.js";
import { DiffView } from "./diff.js";
import { Icon, kindIcon, kindName } from "./icons.js";
import { Mono, Shown } from "./shown.js";
import { Input, Places, saysOnly } from "./tool.js";

/** The user must expand a longer change before the card allows it. */
const FIRST_LINES = 2_000;

type Props = {
  approval: Approval;
  session: Session;
  /** The reason why the card takes no answer now. */
  refusal: string | null;
};

export function ApprovalCard({ approval, session, refusal }: Props) {
  const [answered, setAnswered] = useState(false);
  const [reason, setReason] = useState("");
  const [cut, setCut] = useState<number[]>([]);
  const onWhole = useCallback((at: number, whole: boolean) => {
    setCut((known) => [...known.filter((other) => other !== at), ...(whole ? [] : [at])]);
  }, []);
  const seen = cut.length === 0;
  const answer = (option: ApprovalOption) => {
    const { toolCallId } = approval;
    const sent = allows(option)
      ? session.send({ type: "approve", toolCallId, optionId: option.id })
      : session.send({ type: "deny", toolCallId, optionId: option.id, ...(reason.trim() ? { reason: reason.trim() } : {}) });
    if (!sent) return;
    setAnswered(true);
    // The user may repeat an answer that was rejected or lost.
    setTimeout(() => setAnswered(false), 2_000);
  };
  const answers = answersOf(approval.options);
  const refusalOf = ({ option }: Answer) => {
    if (answered) return "The answer is on its way.";
    return allows(option) && !seen ? "Show all of the change before you allow it." : refusal;
  };
  const { report, onKeyDown } = useAnswerKeys(
    answers.map((given) => ({ key: given.key, refusal: refusalOf(given), give: () => answer(given.option) })),
  );
  // If all lasting answers have the same subject, the card shows it once; otherwise each answer names its own.
  const subjects = [...new Set(answers.filter(({ option }) => lasts(option)).map(({ about }) => about))];
  const about = subjects.length === 1 ? subjects[0]! : null;
  // The card shows the whole command below, so the heading does not repeat it.
  const title = repeats(approval.title, approval.command) ? "Run this command?" : approval.title || approval.name;
  return (
    <article class="card approval" tabIndex={-1} aria-label={`Permission: ${visibleText(title)}`} onKeyDown={onKeyDown}>
      <header class="card-head">
        <h3>
          <Icon name={kindIcon(approval.kind)} /> <Shown text={title} as="line" />
        </h3>
        <span class="muted">
          {kindName(approval.kind)} · <Shown text={approval.name} as="line" />
          {approval.worker !== null && <> · asked by <strong><Shown text={approval.worker} as="line" /></strong></>}
        </span>
        <Countdown deadline={approval.deadline} />
      </header>
      <div class="card-body" tabIndex={0} role="group" aria-label="What it is about">
        {approval.reason !== null && <p><Shown text={approval.reason} as="prose" /></p>}
        {approval.risks.length > 0 && (
          <ul class="risks">
            {approval.risks.map((risk) => <li><Icon name="warn" /> <span><Shown text={risk.replaceAll("_", " ")} as="line" /></span></li>)}
          </ul>
        )}
        <Subject approval={approval} onWhole={onWhole} />
        {answers.some(({ option }) => !allows(option)) && (
          <input
            class="reason"
            value={reason}
            placeholder="Why not (optional, sent to the agent)"
            aria-label="Reason for a refusal"
            onInput={(event) => setReason(event.currentTarget.value)}
          />
        )}
      </div>
      <footer class="card-foot">
        {!seen && <p class="muted">The change is long: it can be allowed when all of it is shown.</p>}
        {[true, false].map((allowing) => (
          <div class="answers">
            {answers.filter(({ option }) => allows(option) === allowing).map((given) => (
              <OptionButton key={given.option.id} answer={given} short={about !== null} able={refusalOf(given) === null} onClick={() => answer(given.option)} />
            ))}
          </div>
        ))}
        {about !== null && <p class="muted about">Lasting answers apply to <Shown text={about} as="line" /></p>}
        <KeyReport report={report} />
      </footer>
    </article>
  );
}

/** Whether a title only repeats the command. A title is one line, so it spells out what ends a line. */
function repeats(title: string, command: string | null): boolean {
  return title === command?.replaceAll("\n", "\\n").replaceAll("\t", "\\t");
}

/** The subject of the request: the command, the change, or else the input, always complete. */
function Subject({ approval, onWhole }: { approval: Approval; onWhole: (at: number, whole: boolean) => void }) {
  const { command, diffs, paths, locations, input, output } = approval;
  const places = [...locations, ...paths.filter((path) => !locations.some((place) => place.path === path)).map((path) => ({ path }))];
  return (
    <>
      {command !== null && <Mono text={command} class="command" />}
      {diffs.map((diff, at) => <DiffView key={at} diff={diff} at={at} first={FIRST_LINES} onWhole={onWhole} />)}
      {command === null && diffs.length === 0 && input !== null && <Input input={input} />}
      {(command !== null || diffs.length > 0) && input !== null && !saysOnly(input, command) && (
        <details>
          <summary>Input</summary>
          <Input input={input} />
        </details>
      )}
      {output !== "" && <Mono text={output} class="output" />}
      {places.length > 0 && <Places places={places} />}
    </>
  );
}

type ButtonProps = { answer: Answer; short: boolean; able: boolean; onClick: () => void };

function OptionButton({ answer: { option, key, label }, short, able, onClick }: ButtonProps) {
  // Lasting answers are harder to reach than answers for this call only.
  const tone = `${allows(option) ? "allow" : "reject"}${lasts(option) ? " lasting" : ""}` as const;
  return (
    <AnswerButton tone={tone} letter={key} title={visibleText(option.name)} able={able} onClick={onClick}>
      <span><Shown text={short ? label : option.name} as="line" /></span>
    </AnswerButton>
  );
}

type KeyedAnswer = { key: string; refusal: string | null; give: () => void };

/**
 * Answers by a key while the card has the focus. A field in the card keeps its letters. A key without a meaning
 * is reported, on the screen and to screen readers.
 */
function useAnswerKeys(answers: KeyedAnswer[]): { report: string; onKeyDown: (event: KeyboardEvent) => void } {
  const [report, setReport] = useState("");
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target instanceof Element && event.target.closest("input, textarea, select") !== null) return;
    const pressed = characterOf(event);
    if (pressed === null) return;
    event.preventDefault();
    const answer = answerOf(answers, pressed);
    if (answer === undefined) setReport(`“${visibleText(pressed)}” is no answer. The keys are ${answers.map(({ key }) => key).join(", ")}.`);
    else if (answer.refusal !== null) setReport(answer.refusal);
    else {
      setReport("");
      answer.give();
    }
  };
  return { report, onKeyDown };
}

/** The effect of the last key, or a hint that there are keys. */
function KeyReport({ report }: { report: string }) {
  return (
    <p class="key-report" role="status" data-report={report !== ""}>
      {report === "" ? "The keys answer while this card has the focus." : report}
    </p>
  );
}
