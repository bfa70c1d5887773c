// A minimal view of a session: messages, reasoning, tool calls, and the questions about them.

import {
  ComposerPrimitive,
  MessagePrimitive,
  QueueItemPrimitive,
  ThreadPrimitive,
  type ReasoningMessagePartProps,
  type TextMessagePartProps,
  type ToolCallMessagePartProps,
} from "@assistant-ui/react";
import { useMemo, type ReactNode } from "react";
import type { HarnessArtifact } from "../src/index.js";

/** Answers the question about a call with one of its options. */
export type Answer = (part: ToolCallMessagePartProps, optionId: string) => void;

/** Works with `useHarnessRuntime`; `useHarnessTransport` needs a command instead. */
const respond: Answer = (part, optionId) => void part.respondToApproval({ optionId });

export function Thread({ answer = respond }: { answer?: Answer }): ReactNode {
  // New component objects would be mounted again at each frame.
  const parts = useMemo(
    () => ({
      Text: ({ text }: TextMessagePartProps) => <p className="text">{text}</p>,
      Reasoning: ({ text }: ReasoningMessagePartProps) => <p className="thought">{text}</p>,
      tools: { Fallback: (part: ToolCallMessagePartProps) => <ToolCall part={part} answer={answer} /> },
    }),
    [answer],
  );
  return (
    <ThreadPrimitive.Root>
      <ThreadPrimitive.Messages>
        {({ message }) => (
          <MessagePrimitive.Root className={message.role} data-status={message.status?.type}>
            <MessagePrimitive.Parts components={parts} />
          </MessagePrimitive.Root>
        )}
      </ThreadPrimitive.Messages>
      <ComposerPrimitive.Root>
        <ComposerPrimitive.Queue>
          {() => (
            <div className="waiting">
              <QueueItemPrimitive.Text />
              <QueueItemPrimitive.Remove>take back</QueueItemPrimitive.Remove>
            </div>
          )}
        </ComposerPrimitive.Queue>
        <ComposerPrimitive.Input />
        <ComposerPrimitive.Send>send</ComposerPrimitive.Send>
        <ComposerPrimitive.Cancel>stop</ComposerPrimitive.Cancel>
      </ComposerPrimitive.Root>
    </ThreadPrimitive.Root>
  );
}

function ToolCall({ part, answer }: { part: ToolCallMessagePartProps; answer: Answer }): ReactNode {
  const { title, diffs } = part.artifact as HarnessArtifact;
  const asks = part.approval !== undefined && part.approval.approved === undefined;
  return (
    <section className="call" data-call={part.toolCallId} data-status={part.status.type} data-error={part.isError}>
      <h4>{title}</h4>
      {part.result !== undefined && <pre>{String(part.result)}</pre>}
      {diffs.map((diff) => (
        <ins key={diff.path}>{diff.newText}</ins>
      ))}
      {asks && <code>{part.approval?.prompt}</code>}
      {asks &&
        part.approval?.options?.map((option) => (
          <button key={option.id} onClick={() => answer(part, option.id)}>
            {option.label}
          </button>
        ))}
    </section>
  );
}
