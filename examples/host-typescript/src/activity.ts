// What is on the screen while an agent works: rows by id, and two pure functions that say what a message
// does to them. Nothing here knows of processes or connections, so pinned messages can be fed to it.
//
// What a host does not know it ignores: a later version may send more kinds and more fields.

import type { SessionUpdate } from "@agentclientprotocol/sdk";
import type { AgentEventParams } from "../pinned/types/agent-event.js";
import type { CarriedUpdate } from "../pinned/types/session-info-meta.js";
import type { ToolLifecycleMeta } from "../pinned/types/tool-lifecycle-meta.js";

/** A row of text for each thing that goes on, in the order they were first heard of. */
export type Rows = ReadonlyMap<string, string>;

/** The rows after a `session/update`. */
export function updated(rows: Rows, update: SessionUpdate): Rows {
  switch (update.sessionUpdate) {
    case "session_info_update": {
      // The profile `meta`: an extension on a standard carrier.
      const extension = harn<CarriedUpdate>(update);
      return extension ? extended(rows, extension) : rows;
    }
    case "tool_call":
    case "tool_call_update": {
      const before = rows.get(update.toolCallId)?.split(" — ")[0];
      const title = update.title ?? before ?? update.toolCallId;
      return set(rows, update.toolCallId, [title, ...toolState(update.status, harn(update))].join(" — "));
    }
    default:
      return rows;
  }
}

/** The rows after a `_harn/agentEvent`. */
export function notified(rows: Rows, event: AgentEventParams): Rows {
  switch (event.kind) {
    case "composition_start":
      return set(rows, event.runId, `composition in ${event.language} — running`);
    case "composition_finish":
      return set(rows, event.runId, `composition in ${event.language} — done in ${event.durationMs} ms`);
    case "composition_error":
      return set(rows, event.runId, `composition in ${event.language} — ${event.error ?? "failed"}`);
    case "composition_child_call": {
      const reach = event.requestedSideEffectLevel;
      return set(rows, `${event.runId}/${event.toolCallId}`, `  ${event.toolName} (${reach})`);
    }
    default:
      return rows;
  }
}

function extended(rows: Rows, update: CarriedUpdate): Rows {
  switch (update.sessionUpdate) {
    case "worker_update": {
      const state = update.metadata.error ?? update.status.replace("_", " ");
      return set(rows, update.workerId, `${update.workerName}: ${update.workerTask} — ${state}`);
    }
    case "progress": {
      const count = update.total ? ` (${update.progress ?? 0} of ${update.total})` : "";
      return set(rows, `progress/${update.phase}`, update.message + count);
    }
    case "skill_activated":
      return set(rows, `skill/${update.skillId ?? update.skillName}`, `skill ${update.skillName} — ${update.reason}`);
    case "skill_deactivated":
      return without(rows, `skill/${update.skillId ?? update.skillName}`);
    case "skill_narrow":
      return set(rows, "tools", `tools: ${update.remainingTools.join(", ")} — ${update.reason}`);
    case "hitl_request":
      return set(rows, update.requestId, `${update.kind}: ${text(update.payload, "prompt")}`);
    case "hitl_resolved":
      return without(rows, update.requestId);
    case "handoff": {
      const { target_persona_or_human: target, task } = update.handoff;
      const who = target.label || target.id || target.kind || "whoever comes";
      return set(rows, update.handoffId, `for ${who}: ${task}`);
    }
    case "artifact":
      return set(rows, update.artifactId, [update.title ?? update.kind, update.fallback].filter(Boolean).join(" — "));
    // The rest is of no interest to this host, or not known to it.
    default:
      return rows;
  }
}

/** The state of a tool call, and what Harn says beside ACP: how long it took, who ran it, why it failed. */
function toolState(status: string | null | undefined, meta: ToolLifecycleMeta = {}): string[] {
  if (meta.parsing) return ["reading its arguments"];
  const { executor } = meta;
  const by = typeof executor === "object" ? executor.serverName : executor;
  const parts = [
    status ?? "pending",
    meta.durationMs === undefined ? "" : `${meta.durationMs} ms`,
    by ? `by ${by}` : "",
    meta.errorCategory ? `${meta.errorCategory}: ${meta.error}` : "",
  ];
  return [parts.filter(Boolean).join(", ")];
}

/** `_meta.harn`. Its type is a promise of the schemas, which the tests hold the agent to. */
function harn<T>(message: { _meta?: Record<string, unknown> | null }): T | undefined {
  return message._meta?.harn as T | undefined;
}

function text(value: unknown, key: string): string {
  const member = (value as Record<string, unknown> | null)?.[key];
  return typeof member === "string" ? member : "";
}

function set(rows: Rows, id: string, row: string): Rows {
  return new Map(rows).set(id, row);
}

function without(rows: Rows, id: string): Rows {
  const rest = new Map(rows);
  rest.delete(id);
  return rest;
}
