// Owns the list of attached clients and the controller of a session, with buttons to take and release control.
import type { Session } from "../wire/session.js";
import { Part } from "./details.js";
import { useTopics } from "./hooks.js";
import { Shown } from "./shown.js";

export function People({ session }: { session: Session }) {
  useTopics(session.doc, "clients", "controller", "link");
  const state = session.state;
  if (state === null) return null;
  const { clients, controller } = state;
  const names = clients.map(({ id }) => id);
  // An editor may control the session without a name in the list.
  const all = controller !== null && !names.includes(controller) ? [controller, ...names] : names;
  const mine = controller !== null && controller === session.client;
  const able = session.link.state.kind === "open";
  return (
    <Part title="People" note={String(all.length)} empty={null}>
      <ul class="people">
        {all.map((name) => (
          <li key={name} class={name === controller ? "controls" : ""}>
            <span class="dot" />
            <span class="person"><Shown text={name} as="line" />{name === session.client && " (you)"}</span>
            <span class="muted">{name === controller ? "controls" : "watches"}</span>
          </li>
        ))}
        {all.length === 0 && <li class="muted">No client with a name</li>}
      </ul>
      {mine ? (
        <button type="button" class="wide" disabled={!able} onClick={() => void session.send({ type: "handback" })}>Hand back</button>
      ) : (
        <button type="button" class="wide" disabled={!able} onClick={() => void session.send({ type: "takeover" })}>
          {controller === null ? "Take control" : "Take over"}
        </button>
      )}
    </Part>
  );
}
