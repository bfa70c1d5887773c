// The pinned schemas as a test sees them: which of them a message falls under, and what is wrong with it.
//
// They are strict, a member they do not know is wrong. That is right for a test that should notice a
// change, and wrong for a running host, which has to ignore what it does not know.

import { readdirSync, readFileSync } from "node:fs";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

/** Compiled JavaScript is in dist/test, what is pinned beside package.json. */
export const root = new URL("../../", import.meta.url);
export const read = (file: string): any => JSON.parse(readFileSync(new URL(file, root), "utf8"));
export const messages = () => readdirSync(new URL("pinned/messages/", root)).map((file) => file.slice(0, -5));

// Formats such as uint64 are no part of JSON Schema.
const ajv = new Ajv2020({ validateFormats: false });
const compiled = new Map<string, ValidateFunction>();

/** What is wrong with a message to the client, by the schemas; and by which of them it was judged. */
export function judge(message: any): { by: string[]; problems: string[] } {
  const parts = Object.entries(extensionsOf(message)).filter(([, value]) => value !== undefined);
  const problems = parts.flatMap(([schema, value]) => problemsOf(schema, value));
  return { by: parts.map(([schema]) => schema), problems };
}

/** The parts of a message that are Harn's, by the schema that describes them. */
function extensionsOf({ method, params, result }: any): Record<string, unknown> {
  const update = params?.update;
  const harn = update?._meta?.harn;
  switch (method) {
    case "_harn/agentEvent":
      return { "agent-event": params };
    case "session/request_permission":
      return { "permission-request": params };
    case "session/update":
      switch (update.sessionUpdate) {
        case "session_info_update":
          // The states of a session's servers stand there by themselves.
          return harn && "mcp" in harn ? { "session-mcp-meta": harn } : { "session-info-meta": harn };
        case "tool_call":
        case "tool_call_update":
          return { "tool-lifecycle-meta": harn };
        case "agent_message_chunk":
          return { "content-meta": update.content._meta?.harn };
        case "plan":
          return { "plan-meta": harn };
      }
      return {};
    default:
      return {
        "initialize-meta": result?.agentCapabilities?._meta?.harn,
        "session-capabilities": result?.agentCapabilities?.session,
      };
  }
}

function problemsOf(schema: string, value: unknown): string[] {
  let validate = compiled.get(schema);
  if (!validate) {
    validate = ajv.compile(read(`pinned/schemas/${schema}.schema.json`));
    compiled.set(schema, validate);
  }
  if (validate(value)) return [];
  return (validate.errors ?? []).map((error) => `${schema}: ${error.instancePath} ${error.message}`);
}
