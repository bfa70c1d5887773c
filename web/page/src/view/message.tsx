// Owns one message of the transcript: the author, the thought, the text, the calls and the notes between them.
import { BlockCache } from "../text/markdown.js";
import { clock, fullTime } from "../text/say.js";
import { isPage } from "../wire/kept.js";
import type { Message, Note, ToolCall } from "../wire/types.js";
import { Fold, type Folds } from "./folds.js";
import { MarkdownBlock } from "./markdown.js";
import { memo } from "./memo.js";
import { Mono, Shown } from "./shown.js";
import { ToolView } from "./tool.js";

const cache = new BlockCache();
/** In a longer text the browser does not render blocks that are out of sight. */
const MANY = 40;

type Props = {
  message: Message;
  /** A message changes in place: only its version shows whether it changed. */
  version: number;
  /** Whether this is the first of several messages by one author; it shows the author's name. */
  first: boolean;
  agent: string;
  sessionId: string;
  folds: Folds;
  /** Null when this page may not withdraw the message. */
  withdraw: ((id: string) => void) | null;
  flash: boolean;
};

export const MessageView = memo(function MessageView(props: Props) {
  return props.message.role === "user" ? <Said {...props} /> : <Answer {...props} />;
});

function Said({ message, withdraw, flash, folds, sessionId }: Props) {
  const { status } = message;
  return (
    <article class={`said is-${status}`} data-flash={flash} aria-label="Prompt">
      <header class="who">
        <strong>{message.author && !isPage(message.author) ? <Shown text={message.author} as="line" /> : "You"}</strong>
        {message.steer && <span class="tag">steer</span>}
        {status === "pending" && <span class="tag waiting">{message.steer ? "not yet delivered" : "queued"}</span>}
        {status === "error" && <span class="tag failed">not delivered</span>}
        <Time at={message.at} />
        {status === "pending" && withdraw && (
          <button type="button" class="quiet small" onClick={() => withdraw(message.id)}>
            Take back
          </button>
        )}
      </header>
      <div class="said-text" dir="auto">
        <Shown text={message.content} as="prose" />
      </div>
      <Between calls={[]} notes={message.notes} folds={folds} sessionId={sessionId} />
    </article>
  );
}

function Answer({ message, first, agent, folds, sessionId, flash }: Props) {
  const { content, thought, status, toolCalls } = message;
  const streaming = status === "streaming" || status === "pending";
  const calls = toolCalls ?? [];
  const blocks = content === "" ? [] : cache.get(`${sessionId}/${message.id}`, content, !streaming);
  return (
    <article class={`answer is-${status}`} data-flash={flash} aria-label="Answer" aria-busy={streaming}>
      {first && (
        <header class="who">
          <strong>
            <Shown text={agent} as="line" />
          </strong>
          <Time at={message.at} />
        </header>
      )}
      {thought !== "" && (
        <Fold folds={folds} name={`thought:${message.id}`} class="thought" head={<>{streaming && content === "" && calls.length === 0 ? "Thinking…" : "Thought"}<span class="peek">{peek(thought)}</span></>}>
          {() => (
            <div class="plain">
              <Shown text={thought} as="prose" />
            </div>
          )}
        </Fold>
      )}
      {blocks.length > 0 && (
        <div class={blocks.length > MANY ? "words many" : "words"}>
          {blocks.map((block, at) => <MarkdownBlock key={at} block={block} />)}
        </div>
      )}
      <Between calls={calls} notes={message.notes} folds={folds} sessionId={sessionId} />
      {streaming && thought === "" && blocks.length === 0 && calls.length === 0 && <div class="pulse" aria-label="Working" />}
      {status === "error" && <div class="tool-error">This answer was cut short.</div>}
    </article>
  );
}

const peek = (thought: string) => <Shown text={thought.slice(0, 160).replace(/\s+/g, " ")} as="line" />;

function Time({ at }: { at: number }) {
  return <time title={fullTime(at)} dateTime={new Date(at).toISOString()}>{clock(at)}</time>;
}

/** Calls and notes in order of arrival. */
function Between({ calls, notes, folds, sessionId }: { calls: ToolCall[]; notes: Note[]; folds: Folds; sessionId: string }) {
  if (calls.length === 0 && notes.length === 0) return null;
  const rows = [
    ...calls.map((call) => ({ at: call.at, view: <ToolView key={call.id} call={call} folds={folds} sessionId={sessionId} /> })),
    ...notes.map((note, at) => ({ at: note.at, view: <NoteView key={`note-${at}`} note={note} /> })),
  ];
  // Sorting is stable: items with the same time keep their order.
  return <div class="between">{rows.sort((a, b) => a.at - b.at).map(({ view }) => view)}</div>;
}

function NoteView({ note }: { note: Note }) {
  const [line, below] = note.kind === "artifact" ? atFirstBreak(note.text) : [note.text, ""];
  return (
    <div class={`note is-${note.kind}`} title={fullTime(note.at)}>
      {note.kind === "reminder" && "Reminder: "}
      <Shown text={line} as="prose" />
      {below !== "" && <Mono text={below} />}
    </div>
  );
}

/** The first line of a text, and the rest. */
function atFirstBreak(text: string): [string, string] {
  const at = text.indexOf("\n");
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}
