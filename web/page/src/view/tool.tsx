// Owns one tool call in the transcript: a line with its title, and its input, changes and output below.
import { useMemo, useState } from "preact/hooks";
import { diffLines } from "../text/diff.js";
import { duration } from "../text/say.js";
import type { Json, Place, ToolCall } from "../wire/types.js";
import { DiffView, Sums } from "./diff.js";
import { Fold, type Folds } from "./folds.js";
import { useNow } from "./hooks.js";
import { Icon, kindIcon, kindName } from "./icons.js";
import { Mono, Shown } from "./shown.js";

/** A change this small is shown at once. */
const SMALL_CHANGE = 24;

export function ToolView({ call, folds, sessionId }: { call: ToolCall; folds: Folds; sessionId: string }) {
  // Calls change in place, so the lengths show whether a change grew.
  const lengths = call.diffs.map((diff) => diff.newText.length).join();
  const sums = useMemo(() => call.diffs.map((diff) => diffLines(diff.oldText, diff.newText)), [call.diffs, lengths]);
  const changed = sums.reduce((sum, diff) => sum + diff.added + diff.removed, 0);
  const label = call.title === "" ? call.name : call.title;
  return (
    <div class={`tool is-${call.status}`}>
      <Fold
        folds={folds}
        name={`tool:${call.id}`}
        usually={(changed > 0 && changed <= SMALL_CHANGE) || showsItsOutput(call)}
        head={
          <>
            <span class="tool-kind" title={kindName(call.kind)}>
              <Icon name={kindIcon(call.kind)} />
            </span>
            <span class="tool-title">
              <Shown text={label} as="line" />
            </span>
            {sums.length > 0 && <Sums diff={total(sums)} isNew={call.diffs.every((diff) => diff.oldText === null)} />}
            <Status call={call} />
          </>
        }
      >
        {() => <Detail call={call} sessionId={sessionId} />}
      </Fold>
      {call.error !== null && (
        <div class="tool-error">
          <Shown text={call.error} as="block" />
        </div>
      )}
    </div>
  );
}

/** A command shows its output while it runs, and after that only if it failed. */
function showsItsOutput({ kind, status, output }: ToolCall): boolean {
  return kind === "execute" && status !== "complete" && output !== "";
}

const total = (sums: ReturnType<typeof diffLines>[]) => ({
  hunks: [],
  skippedAfter: 0,
  added: sums.reduce((sum, diff) => sum + diff.added, 0),
  removed: sums.reduce((sum, diff) => sum + diff.removed, 0),
});

function Status({ call }: { call: ToolCall }) {
  const running = call.status === "running";
  const now = useNow(1_000, running && call.approval !== "pending");
  if (call.approval === "pending") return <span class="tool-state waiting">asks</span>;
  if (running) {
    const long = now - call.at;
    return (
      <span class="tool-state running">
        <span class="dot" /> {long >= 2_000 ? duration(Math.floor(long / 1_000) * 1_000) : "running"}
      </span>
    );
  }
  const took = call.durationMs ? duration(call.durationMs) : "";
  if (call.status === "error") return <span class="tool-state failed">{call.approval === "denied" ? "refused" : "failed"} {took}</span>;
  return <span class="tool-state done">{took || "done"}</span>;
}

function Detail({ call, sessionId }: { call: ToolCall; sessionId: string }) {
  return (
    <div class="tool-detail">
      {call.locations.length > 0 && <Places places={call.locations} />}
      {call.input !== null && (call.diffs.length === 0 || !onlyThePath(call.input)) && !saysOnly(call.input, call.title) && (
        <section aria-label="Input">
          <h4>Input · <Shown text={call.name} as="line" /></h4>
          <Input input={call.input} />
        </section>
      )}
      {call.diffs.map((diff) => <DiffView key={diff.path} diff={diff} />)}
      {call.output !== "" && <Output call={call} sessionId={sessionId} />}
      {call.input === null && call.output === "" && call.diffs.length === 0 && <p class="muted">No more details.</p>}
    </div>
  );
}

export function Places({ places }: { places: Place[] }) {
  return (
    <div class="places">
      {places.map(({ path, line }) => (
        <code>
          <Shown text={line === undefined ? path : `${path}:${line}`} as="line" />
        </code>
      ))}
    </div>
  );
}

/** An input that the change already shows. */
function onlyThePath(input: Json): boolean {
  return input !== null && typeof input === "object" && !Array.isArray(input) && Object.keys(input).every((key) => key === "path");
}

/** An input that only repeats the command that is already shown. */
export function saysOnly(input: Json, command: string | null): boolean {
  if (input === null || typeof input !== "object" || Array.isArray(input)) return input === command;
  return Object.entries(input).every(([key, value]) => key === "command" && value === command);
}

/** Members of an object a line each, text unquoted when it has lines; everything else as JSON. */
export function Input({ input }: { input: Json }) {
  if (input === null || typeof input !== "object" || Array.isArray(input) || Object.keys(input).length === 0) {
    return <Mono text={typeof input === "string" ? input : JSON.stringify(input, null, 2)} />;
  }
  return (
    <dl class="input">
      {Object.entries(input).map(([key, value]) => (
        <>
          <dt>
            <Shown text={key} as="line" />
          </dt>
          <dd>
            <Mono text={typeof value === "string" ? value : JSON.stringify(value, null, 2)} />
          </dd>
        </>
      ))}
    </dl>
  );
}

function Output({ call, sessionId }: { call: ToolCall; sessionId: string }) {
  const [whole, setWhole] = useState<string | null>(null);
  const [state, setState] = useState<"" | "loading" | "failed">("");
  const fetchAll = async () => {
    setState("loading");
    const url = new URL("state/output", document.baseURI);
    url.searchParams.set("session", sessionId);
    url.searchParams.set("call", call.id);
    try {
      const response = await fetch(url);
      if (!response.ok) throw new Error(String(response.status));
      setWhole(await response.text());
      setState("");
    } catch {
      setState("failed");
    }
  };
  return (
    <section aria-label="Output">
      <h4>Output</h4>
      <Mono text={whole ?? call.output} class="output" follows={call.status === "running"} />
      {call.cut && whole === null && (
        <button type="button" class="quiet wide" disabled={state === "loading"} onClick={() => void fetchAll()}>
          {state === "loading" ? "Fetching…" : state === "failed" ? "Could not be fetched. Try again" : "This is cut. Show all"}
        </button>
      )}
    </section>
  );
}
