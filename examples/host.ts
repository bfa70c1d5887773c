// A host that lends an agent something: a tool, a skill and its list of shells.
//
// `npm start -- PROMPT…` starts `harn-serve acp` in the directory it is called from, sends the prompts one after another
// and prints what the agent says. HARN_SERVE names another binary than the one on the path.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const show = (text: string) => process.stdout.write(text);

const shell = {
  id: "sh",
  label: "The editor's shell",
  path: "/bin/sh",
  platform: "linux",
  available: true,
  supports_login: true,
  supports_interactive: true,
  default_args: ["-c"],
  login_args: ["-l", "-c"],
  source: "host",
};

/** What the agent may ask of a host that said `hostBridge`, each with its answer. */
const bridge: Record<string, (params: any) => unknown> = {
  "host/tools/list": () => ({
    tools: [
      {
        name: "count_words",
        description: "Count the words of a text",
        schema: {
          type: "object",
          properties: { text: { type: "string", description: "What to count" } },
          required: ["text"],
        },
      },
    ],
  }),
  builtin_call: ({ name, args: [args] }) => {
    if (name === "count_words" && typeof args?.text === "string") {
      return { words: args.text.split(/\s+/).filter(Boolean).length };
    }
    // This code says no; any other says that it did not work.
    throw new acp.RequestError(-32001, "this host lends count_words, with a text");
  },
  "skills/list": () => [
    {
      id: "release-notes",
      name: "release-notes",
      description: "Write release notes from what changed",
      source: "host",
    },
  ],
  "skills/fetch": () => ({
    name: "release-notes",
    description: "Write release notes from what changed",
    body: "Write release notes for $1. One line a change, the user's words.\n",
    manifest: {
      short: "Write release notes",
      argument_hint: "VERSION",
      user_invocable: true,
      paths: ["CHANGELOG.md"],
    },
  }),
  "host/capabilities": () => ({ process: ["list_shells", "get_default_shell"] }),
  "host/call": ({ name }) => {
    if (name === "process.list_shells") return { shells: [shell], default_shell_id: "sh" };
    if (name === "process.get_default_shell") return shell;
    throw acp.RequestError.methodNotFound(name);
  },
};

const child = spawn(process.env.HARN_SERVE ?? "harn-serve", ["acp"], {
  cwd: process.env.INIT_CWD ?? process.cwd(),
  stdio: ["pipe", "pipe", "inherit"],
});
const exited = once(child, "exit");
let host = acp
  .client({ name: "lending-host" })
  .onNotification(acp.methods.client.session.update, ({ params: { update } }) => {
    if (update.sessionUpdate === "agent_message_chunk" && update.content.type === "text") {
      show(update.content.text);
    }
  })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    // A real host shows the question to a person. What it lends itself, this one allows.
    show(`(asked: ${params.toolCall.title ?? ""})\n`);
    const once = params.options.find((option) => option.kind === "allow_once");
    return { outcome: once ? { outcome: "selected", optionId: once.optionId } : { outcome: "cancelled" } };
  });
for (const [method, answer] of Object.entries(bridge)) {
  // Not ACP's: each comes with a parser of our own.
  host = host.onRequest(method, (params) => params as any, ({ params }) => answer(params) as any);
}
const { agent } = host.connect(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)));
await agent.request(acp.methods.agent.initialize, {
  protocolVersion: acp.PROTOCOL_VERSION,
  clientCapabilities: { _meta: { harn: { profile: "meta", hostBridge: true } } },
});
const cwd = process.env.INIT_CWD ?? process.cwd();
const { sessionId } = await agent.request(acp.methods.agent.session.new, { cwd, mcpServers: [] });
for (const text of process.argv.slice(2)) {
  show(`> ${text}\n`);
  await agent.request(acp.methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
  show("\n");
}
child.stdin.end();
process.exitCode = (await exited)[0] ?? 1;
