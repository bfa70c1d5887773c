// A host on the official SDK: starts the agent, asks for the profile `meta`, keeps the rows up to date.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";
import type { AgentEventParams } from "../pinned/types/agent-event.js";
import { notified, updated, type Rows } from "./activity.js";
import { question, type Question } from "./permission.js";

/**
 * Who hears what: the rows whenever they change, a question, and each line of the traffic. A question is
 * answered with the id of an option, or with nothing, which cancels the turn. `withdrawn` aborts when nobody
 * waits for the answer any more: the deadline has passed, or the turn is over.
 */
export interface Listeners {
  changed?(rows: Rows): void;
  asked?(question: Question, withdrawn: AbortSignal): string | undefined | Promise<string | undefined>;
  line?(line: string): void;
}

export class Host {
  rows: Rows = new Map();
  answer = "";
  readonly #agent: acp.ClientContext;
  readonly #end: () => Promise<number | null>;

  constructor(args: string[], listeners: Listeners = {}) {
    const child = spawn(process.env.HARN_SERVE ?? "harn-serve", args, { stdio: ["pipe", "pipe", "inherit"] });
    const exited = once(child, "exit");
    // A command that cannot be started is told by `end`, and closes the connection.
    exited.catch(() => {});
    this.#end = async () => {
      child.stdin.end();
      return (await exited)[0];
    };
    const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
    const show = (rows: Rows) => {
      if (rows !== this.rows) listeners.changed?.(rows);
      this.rows = rows;
    };
    this.#agent = acp
      .client({ name: "harn-host-example" })
      .onNotification(acp.methods.client.session.update, ({ params: { update } }) => {
        if (update.sessionUpdate === "agent_message_chunk" && update.content.type === "text") {
          this.answer += update.content.text;
        }
        show(updated(this.rows, update));
      })
      // Not ACP's: it comes with a parser of our own.
      .onNotification("_harn/agentEvent", (params) => params as AgentEventParams, ({ params }) => {
        show(notified(this.rows, params));
      })
      .onRequest(acp.methods.client.session.requestPermission, async ({ params, signal }) => {
        const optionId = await listeners.asked?.(question(params), signal);
        return { outcome: optionId ? { outcome: "selected", optionId } : { outcome: "cancelled" } };
      })
      .connect(listeners.line ? recorded(stream, listeners.line) : stream).agent;
  }

  /** Says who we are and what we can take; without the profile the SDK would drop the extensions unseen. */
  initialize(): Promise<acp.InitializeResponse> {
    return this.#agent.request(acp.methods.agent.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientInfo: { name: "harn-host-example", version: "1.0.0" },
      clientCapabilities: { _meta: { harn: { profile: "meta" } } },
    });
  }

  async open(cwd: string): Promise<string> {
    return (await this.#agent.request(acp.methods.agent.session.new, { cwd, mcpServers: [] })).sessionId;
  }

  async prompt(sessionId: string, text: string): Promise<acp.StopReason> {
    const params: acp.PromptRequest = { sessionId, prompt: [{ type: "text", text }] };
    return (await this.#agent.request(acp.methods.agent.session.prompt, params)).stopReason;
  }

  /** Stops the turn that runs. That there was none is told too, as `control_outcome`. */
  cancel(sessionId: string): Promise<void> {
    return this.#agent.notify(acp.methods.agent.session.cancel, { sessionId });
  }

  async close(sessionId: string): Promise<void> {
    await this.#agent.request(acp.methods.agent.session.close, { sessionId });
  }

  /** Ends the agent; answers its exit code. */
  end(): Promise<number | null> {
    return this.#end();
  }
}

/** The same stream; every message is also handed to `line`, in the form that `fixtures verify` reads. */
function recorded(stream: acp.Stream, line: (line: string) => void): acp.Stream {
  const tap = (to: "agent" | "client") =>
    new TransformStream<acp.AnyMessage, acp.AnyMessage>({
      transform(message, onwards) {
        line(JSON.stringify({ to, message }));
        onwards.enqueue(message);
      },
    });
  const outgoing = tap("agent");
  void outgoing.readable.pipeTo(stream.writable).catch(() => {});
  return { readable: stream.readable.pipeThrough(tap("client")), writable: outgoing.writable };
}
