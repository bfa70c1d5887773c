// Owns the panel beside the transcript: plan, workers, skills, usage and the people attached.
import type { ComponentChildren } from "preact";
import { money, tokens } from "../text/say.js";
import type { Session } from "../wire/session.js";
import type { PlanEntry, Usage } from "../wire/types.js";
import { useTopics } from "./hooks.js";
import { People } from "./people.js";
import { Shown } from "./shown.js";
import { Workers } from "./workers.js";

export function Details({ session }: { session: Session }) {
  useTopics(session.doc, "plan", "workers", "skills", "usage", "session");
  const state = session.state;
  if (state === null) return null;
  return (
    <>
      <Part title="Plan" note={planNote(state.plan)} empty={state.plan.length === 0 ? "No plan yet" : null}>
        <ol class="plan">
          {state.plan.map((entry, at) => (
            <li key={at} class={`plan-entry is-${entry.status}`}>
              <span class="plan-mark" aria-label={entry.status.replace("_", " ")} />
              <span>
                <Shown text={entry.content} as="prose" />
                {entry.priority === "high" && <span class="tag">high</span>}
              </span>
            </li>
          ))}
        </ol>
      </Part>
      <Part title="Workers" note={state.workers.length > 0 ? String(state.workers.length) : ""} empty={state.workers.length === 0 ? "None" : null}>
        <Workers workers={state.workers} path={[state.session.id]} />
      </Part>
      <Part title="Skills" note="" empty={state.skills.length === 0 ? "None active" : null}>
        <div class="chips">{state.skills.map((skill) => <span class="chip" key={skill}><Shown text={skill} as="line" /></span>)}</div>
      </Part>
      <Part title="Usage" note="" empty={state.usage === null ? "Not known" : null}>
        {state.usage && <UsageView usage={state.usage} />}
      </Part>
      <People session={session} />
      <Part title="Session" note="" empty={null}>
        <dl class="facts">
          <dt>Folder</dt>
          <dd><code><Shown text={state.session.cwd} as="line" /></code></dd>
          <dt>Agent</dt>
          <dd><Shown text={state.session.agent} as="line" /></dd>
          <dt>Id</dt>
          <dd><code><Shown text={state.session.id} as="line" /></code></dd>
        </dl>
      </Part>
    </>
  );
}

function planNote(plan: PlanEntry[]): string {
  if (plan.length === 0) return "";
  return `${plan.filter(({ status }) => status === "completed").length} of ${plan.length}`;
}

export function Part({ title, note, empty, children }: { title: string; note: string; empty: string | null; children: ComponentChildren }) {
  return (
    <section class="part" aria-label={title}>
      <h2>
        {title} <span class="part-note">{note}</span>
      </h2>
      {empty !== null ? <p class="muted">{empty}</p> : children}
    </section>
  );
}

function UsageView({ usage }: { usage: Usage }) {
  const share = usage.size > 0 ? Math.min(1, usage.used / usage.size) : 0;
  return (
    <div class="usage">
      <div class="meter" role="meter" aria-label="Context used" aria-valuemin={0} aria-valuemax={usage.size} aria-valuenow={usage.used} data-full={share > 0.85}>
        <span style={{ width: `${(share * 100).toFixed(1)}%` }} />
      </div>
      <p>
        {tokens(usage.used)} of {tokens(usage.size)} tokens
        <span class="part-note"> {Math.round(share * 100)} %</span>
      </p>
      <p>{usage.cost === null ? <span class="muted">Cost not known</span> : money(usage.cost.amount, usage.cost.currency)}</p>
    </div>
  );
}
