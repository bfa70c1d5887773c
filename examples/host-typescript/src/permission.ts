// What a person sees before they decide: who asks, the exact change or command, why, until when, and what
// each answer covers. Pure, like activity.ts.

import type { RequestPermissionRequest, ToolCallContent } from "@agentclientprotocol/sdk";
import type { PermissionMeta } from "../pinned/types/permission-request.js";

/** A permission request, ready to be put to somebody. */
export interface Question {
  /** The workers it came through, and what would be done. */
  title: string;
  /** All of it: files with what goes and what comes, a command, whatever the tool shows. */
  detail: string[];
  /** Why somebody is asked. */
  reason?: string;
  /** Until when; afterwards the answer is no. */
  until?: string;
  /** What may be answered. To pick one in a program, go by `id`, never by place: there may be more tomorrow. */
  options: { id: string; name: string; scope?: string }[];
}

/** What a permission request asks. A client on another profile, or of another agent, has no `_meta.harn`. */
export function question({ toolCall, options, _meta }: RequestPermissionRequest): Question {
  const harn = _meta?.harn as PermissionMeta | undefined;
  const scopes = new Map((harn?.options ?? []).map(({ optionId, scope }) => [optionId, scope]));
  return {
    title: [...(harn?.lineage ?? []).map((worker) => worker.workerName), toolCall.title].join(" › "),
    detail: (toolCall.content ?? []).flatMap(shown),
    reason: harn?.policyDecision?.reason,
    until: harn?.deadline,
    options: options.map(({ optionId, name }) => ({ id: optionId, name, scope: scopes.get(optionId) })),
  };
}

/** The lines of a question. What an agent wrote could move the cursor and hide the rest: it is made harmless. */
export function lines({ title, detail, reason, until, options }: Question): string[] {
  return [
    `? ${title}`,
    ...detail.map((line) => `  ${line}`),
    ...(reason ? [`  asked because ${reason}`] : []),
    ...(until ? [`  until ${until}`] : []),
    ...options.map(({ name, scope }, index) => `  ${index + 1} ${scope ? `[${scope}] ` : ""}${name}`),
  ].map((line) => line.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "\uFFFD"));
}

function shown(content: ToolCallContent): string[] {
  switch (content.type) {
    case "diff": {
      const signed = (sign: string, text: string) =>
        text === "" ? [] : text.replace(/\n$/, "").split("\n").map((line) => `${sign} ${line}`);
      return [content.path, ...signed("-", content.oldText ?? ""), ...signed("+", content.newText)];
    }
    case "content":
      return content.content.type === "text" ? content.content.text.split("\n") : [`(${content.content.type})`];
    default:
      return [];
  }
}
