// A small server of `POST /assistant`: a session that answers in two steps and asks before it runs tests. It ends its response
// when it asks, because the client sends nothing while a response is open.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { AssistantTransportDeltaTracker } from "assistant-stream";
import type { HarnessState, Operation } from "../src/index.js";
import { approval, assistant, call, state, user } from "./state.js";

export const TOKEN = "let-me-in";

/** One request, as the client made it. */
export type Heard = {
  readonly accept: string;
  readonly body: { readonly commands: readonly any[]; readonly [key: string]: unknown };
  /** Which side ended the response: this server, or the client by disconnecting. */
  readonly ended: Promise<"finished" | "left">;
};

export type AssistantServer = { readonly url: string; readonly heard: readonly Heard[]; close(): void };

export async function assistantServer(): Promise<AssistantServer> {
  const sessions = new Map<string, AssistantTransportDeltaTracker>();
  const heard: Heard[] = [];

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.headers.authorization !== `Bearer ${TOKEN}`) {
      response.writeHead(401).end("The token is not one of ours.");
      return;
    }
    let text = "";
    for await (const piece of request) text += piece;
    const body = JSON.parse(text) as Heard["body"];
    const accept = request.headers.accept ?? "";
    heard.push({
      accept,
      body,
      ended: new Promise((resolve) => response.once("close", () => resolve(response.writableFinished ? "finished" : "left"))),
    });

    const asked = new URL(request.url ?? "", "http://server").searchParams.get("session") ?? body["session"];
    const id = typeof asked === "string" ? asked : `session-${sessions.size + 1}`;
    const session = sessions.get(id) ?? new AssistantTransportDeltaTracker(state({ session: { ...state().session, id } }) as never);
    sessions.set(id, session);
    const document = (): HarnessState => session.state as unknown as HarnessState;
    const sse = accept.includes("text/event-stream");
    const write = (operations: readonly Operation[]): void =>
      void response.write(
        sse
          ? `data: ${JSON.stringify({ type: "update-state", path: [], operations })}\n\n`
          : `aui-state:${JSON.stringify(operations)}\n`,
      );
    const apply = (...operations: Operation[]): void => {
      session.append(operations);
      write(operations);
    };
    const end = (error?: string): void => {
      if (error !== undefined) {
        response.write(sse ? `data: ${JSON.stringify({ type: "error", path: [], error })}\n\n` : `3:${JSON.stringify(error)}\n`);
      }
      response.end(sse ? "data: [DONE]\n\n" : "");
    };

    // The first document already has the user's message; otherwise the client's own copy of it would flicker.
    const next = document().messages.length;
    const [command] = body.commands;
    if (command?.type === "add-message") {
      const prompt = command.message.parts.map((part: { text: string }) => part.text).join("\n\n");
      session.append([
        { type: "set", path: ["messages", String(next)], value: user(`m${next}`, prompt) as never },
        { type: "set", path: ["status"], value: "running" },
      ]);
    }
    response.writeHead(200, { "content-type": sse ? "text/event-stream" : "text/plain; charset=utf-8" });
    write([{ type: "set", path: [], value: session.state as never }]);
    response.write(sse ? ": still here\n\n" : "\n");

    switch (command?.type) {
      case undefined:
        return end();
      case "add-message": {
        const prompt = document().messages.at(-1)?.content;
        const at = String(next + 1);
        apply({ type: "set", path: ["messages", at], value: assistant(`m${at}`, "", { status: "streaming" }) as never });
        apply({ type: "append-text", path: ["messages", at, "content"], value: `You said ${prompt}.` });
        if (prompt === "wait") return;
        if (prompt === "break") return end("the connection to the agent was lost");
        if (prompt === "test") {
          apply(
            { type: "set", path: ["messages", at, "toolCalls", "0"], value: call("t1", { approval: "pending" }) as never },
            { type: "set", path: ["approvals"], value: [approval("t1")] as never },
          );
          return end();
        }
        apply({ type: "set", path: ["messages", at, "status"], value: "complete" }, { type: "set", path: ["status"], value: "idle" });
        return end();
      }
      case "approve": {
        const at = String(next - 1);
        apply(
          { type: "set", path: ["approvals"], value: [] },
          { type: "set", path: ["messages", at, "toolCalls", "0", "approval"], value: "approved" },
        );
        apply(
          { type: "set", path: ["messages", at, "toolCalls", "0", "output"], value: `passed (${command.optionId})` },
          { type: "set", path: ["messages", at, "toolCalls", "0", "status"], value: "complete" },
          { type: "set", path: ["messages", at, "status"], value: "complete" },
          { type: "set", path: ["status"], value: "idle" },
        );
        return end();
      }
      default:
        return end(`there is no command ${command.type}`);
    }
  }

  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/assistant`,
    heard,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
