// assistant-ui over the socket: everything a session can do, steering and approvals included.

import {
  useExternalStoreRuntime,
  type AppendMessage,
  type AssistantRuntime,
  type QueueItemState,
  type ThreadMessageLike,
} from "@assistant-ui/react";
import { useSyncExternalStore } from "react";
import { approvalCommand, toQueueItems, toThreadMessages, type Command, type HarnessConnection } from "../src/index.js";

const NO_MESSAGES: ThreadMessageLike[] = [];
const NO_ITEMS: QueueItemState[] = [];
const asItIs = (message: ThreadMessageLike): ThreadMessageLike => message;

/** Give the component that calls this a `key` of the session, so that the branches of one are not those of another. */
export function useHarnessRuntime(connection: HarnessConnection): AssistantRuntime {
  const state = useSyncExternalStore(connection.subscribe, connection.getState);

  const send = (...commands: Command[]): void => {
    if (!connection.send(...commands)) throw new Error("There is no connection; nothing was sent.");
  };
  const submit = (message: AppendMessage): void => send({ type: "submit", prompt: textOf(message) });
  const steer = (message: AppendMessage): void => send({ type: "steer", message: textOf(message) });
  const withdraw = (messageId: string): void => send({ type: "withdraw", messageId });

  return useExternalStoreRuntime<ThreadMessageLike>({
    messages: state === null ? NO_MESSAGES : toThreadMessages(state, { withoutPending: true }),
    convertMessage: asItIs,
    isLoading: state === null,
    isRunning: state?.status === "running",
    // With a queue the user can send messages while the agent works. They steer it.
    queue: {
      items: state === null ? NO_ITEMS : toQueueItems(state, "queue"),
      steerItems: state === null ? NO_ITEMS : toQueueItems(state, "steer"),
      enqueue: submit,
      steer,
      remove: withdraw,
      edit: (id, message) => send({ type: "withdraw", messageId: id }, { type: "submit", prompt: textOf(message) }),
      move: (id, { lane }) => {
        const waiting = state?.messages.find((message) => message.id === id);
        // A prompt keeps its position within its lane: the session takes prompts in order of arrival.
        if (waiting === undefined || lane === undefined || (lane === "steer") === (waiting.steer === true)) return;
        const again: Command =
          lane === "steer" ? { type: "steer", message: waiting.content } : { type: "submit", prompt: waiting.content };
        send({ type: "withdraw", messageId: id }, again);
      },
    },
    onNew: async (message) => submit(message),
    onCancel: async () => send({ type: "cancel" }),
    onRespondToToolApproval: (answer) => {
      const command = state === null ? null : approvalCommand(state, answer);
      if (command === null) throw new Error("Nobody asks this any more.");
      send(command);
    },
  });
}

function textOf(message: AppendMessage): string {
  return message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
}
