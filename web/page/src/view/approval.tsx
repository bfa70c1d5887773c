// Owns the card that asks for permission: exactly what would be done, by whom, why, and a button for each answer.
import { useCallback, useState } from "preact/hooks";
import { visibleText } from "../text/visible.js";
import type { Session } from "../wire/session.js";
import type { Approval, ApprovalOption, Json } from "../wire/types.js";
import { AnswerButton, Countdown } from "./asks.js";
import { DiffView } from "./diff.js";
import { Icon, kindIcon, kindName } from "./icons.js";
import { Mono, Shown } from "./shown.js";
import { Input, Places } from "./tool.js";

/** A longer change is shown whole when asked for, and allowed only then. */
const FIRST_LINES = 2_000;

type Props = { approval: Approval; session: Session; able: boolean };

export function ApprovalCard({ approval, session, able }: Props) {
  const [answered, setAnswered] = useState(false);
  const [reason, setReason] = useState("");
  const [cut, setCut] = useState<number[]>([]);
  const onWhole = useCallback((at: number, whole: boolean) => {
    setCut((known) => [...known.filter((other) => other !== at), ...(whole ? [] : [at])]);
  }, []);
  const ready = able && !answered;
  const seen = cut.length === 0;
  const answer = (option: ApprovalOption) => {
    const { toolCallId } = approval;
    const sent = isAllow(option)
      ? session.send({ type: "approve", toolCallId, optionId: option.id })
      : session.send({ type: "deny", toolCallId, optionId: option.id, ...(reason.trim() ? { reason: reason.trim() } : {}) });
    if (!sent) return;
    setAnswered(true);
    // An answer that was refused, or lost on its way, may be given again.
    setTimeout(() => setAnswered(false), 2_000);
  };
  // The command itself stands below, whole: the heading need not say it again.
  const title = approval.title === approval.command ? "Run this command?" : approval.title || approval.name;
  const rejects = approval.options.filter((option) => !isAllow(option));
  return (
    <article class="card approval" tabIndex={-1} aria-label={`Permission: ${visibleText(title)}`}>
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
        {rejects.length > 0 && (
          <input
            class="reason"
            value={reason}
            placeholder="Why not (optional, told to the agent)"
            aria-label="Reason for a refusal"
            onInput={(event) => setReason(event.currentTarget.value)}
          />
        )}
      </div>
      <footer class="card-foot">
        {!seen && <p class="muted">The change is long: it can be allowed when all of it is shown.</p>}
        <div class="answers">
          {rejects.map((option) => <OptionButton key={option.id} option={option} able={ready} onClick={() => answer(option)} />)}
          {approval.options.filter(isAllow).map((option) => (
            <OptionButton key={option.id} option={option} able={ready && seen} onClick={() => answer(option)} />
          ))}
        </div>
      </footer>
    </article>
  );
}

const isAllow = (option: ApprovalOption): boolean => option.kind === "allow_once" || option.kind === "allow_always";

/** What it is about: the command, the change, or else the whole input; nothing of it is left out. */
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

/** An input that says no more than the command that is shown. */
function saysOnly(input: Json, command: string | null): boolean {
  if (input === null || typeof input !== "object" || Array.isArray(input)) return input === command;
  return Object.entries(input).every(([key, value]) => key === "command" && value === command);
}

const SCOPES: Record<string, string> = {
  once: "this once", session: "this session", workspace: "this workspace", project: "this project", user: "everywhere",
};

function OptionButton({ option, able, onClick }: { option: ApprovalOption; able: boolean; onClick: () => void }) {
  const scope = SCOPES[option.scope] ?? option.scope;
  const saysScope = option.name.toLowerCase().includes(option.scope.toLowerCase());
  // What lasts is less at hand than what is for this once.
  const tone = option.kind === "allow_always" ? "allow lasting" : isAllow(option) ? "allow" : "reject";
  return (
    <AnswerButton tone={tone} able={able} onClick={onClick}>
      <Shown text={option.name} as="line" />
      {!saysScope && <span class="scope"><Shown text={scope} as="line" /></span>}
    </AnswerButton>
  );
}
