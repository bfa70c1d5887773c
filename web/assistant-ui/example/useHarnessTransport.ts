// assistant-ui over `POST /assistant`: no socket, but one request at a time. A question ends the response,
// and the answer is the next request.

import {
  fromThreadMessageLike,
  useAssistantTransportRuntime,
  type AssistantRuntime,
  type AssistantTransportCommand,
  type AssistantTransportConnectionMetadata,
  type AssistantTransportProtocol,
  type ThreadMessage,
  type ThreadMessageLike,
} from "@assistant-ui/react";
import { toThreadMessages, type Command, type HarnessState } from "../src/index.js";

declare module "@assistant-ui/react" {
  namespace Assistant {
    interface Commands {
      harness: Command;
    }
  }
}

export type HarnessTransportOptions = {
  /** The address of `/assistant`, with `?session=` for a session that exists. */
  readonly url: string;
  readonly token?: string;
  readonly protocol?: AssistantTransportProtocol;
  readonly onError?: (error: Error) => void;
};

/** `runtime.thread.resumeRun({ parentId: null })` shows a session as it is, and goes on with it if it runs. */
export function useHarnessTransport({ url, token, protocol = "data-stream", onError }: HarnessTransportOptions): AssistantRuntime {
  return useAssistantTransportRuntime<HarnessState | null>({
    api: url,
    resumeApi: url,
    initialState: null,
    protocol,
    headers: {
      // The server cannot know which of the two formats the client reads, so the request names it.
      Accept: protocol === "assistant-transport" ? "text/event-stream" : "text/plain",
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
    },
    // The server knows its document; all it needs of ours is which session it is.
    prepareSendCommandsRequest: ({ state, ...rest }) => ({ ...rest, session: (state as HarnessState | null)?.session.id }),
    converter,
    ...(onError !== undefined && { onError }),
  });
}

function converter(state: HarnessState | null, { pendingCommands, isSending }: AssistantTransportConnectionMetadata) {
  return {
    messages: [...(state === null ? [] : toThreadMessages(state)).map(threadMessage), ...pendingCommands.flatMap(unsent)],
    isRunning: isSending,
  };
}

const converted = new WeakMap<ThreadMessageLike, ThreadMessage>();

function threadMessage(like: ThreadMessageLike): ThreadMessage {
  let message = converted.get(like);
  if (message === undefined) {
    message = fromThreadMessageLike(like, like.id ?? "", { type: "complete", reason: "unknown" });
    converted.set(like, message);
  }
  return message;
}

/** What was said and has not reached the server yet. */
function unsent(command: AssistantTransportCommand, index: number): ThreadMessage[] {
  if (command.type !== "add-message") return [];
  const content = command.message.parts.map((part) => ({ ...part }));
  return [fromThreadMessageLike({ role: "user", content }, `unsent-${index}`, { type: "complete", reason: "unknown" })];
}
