// Owns the prompt box: writing, sending, queueing, steering, stopping, and the menu of commands.
import { useEffect, useRef, useState } from "preact/hooks";
import { commandOf, keyAct, menuOf, offerOf, type Sending } from "../prompt.js";
import { readDraft, writeDraft } from "../wire/kept.js";
import type { Session } from "../wire/session.js";
import type { SlashCommand } from "../wire/types.js";
import { useTopics } from "./hooks.js";
import { Icon } from "./icons.js";
import { Settings } from "./settings.js";
import { Shown } from "./shown.js";

export function PromptBox({ session }: { session: Session }) {
  useTopics(session.doc, "status", "session", "controller", "draft", "link");
  const box = useRef<HTMLTextAreaElement>(null);
  // Sends the text from before the session existed as its first prompt.
  const [text, setText] = useState(() => (session.id === null ? "" : readDraft(session.id)));
  const [menuClosed, setMenuClosed] = useState(false);
  const [picked, setPicked] = useState(0);
  const state = session.state;

  // Text that did not arrive becomes a draft again.
  const drafts = session.doc.version("draft");
  useEffect(() => {
    if (drafts > 0) setText(readDraft(session.id));
  }, [drafts]);
  // Focuses the box if there is a keyboard; on a phone, the keyboard would cover the page.
  useEffect(() => {
    if (state !== null && document.activeElement === document.body && matchMedia("(hover: hover)").matches) box.current?.focus();
  }, [state === null]);

  if (state === null) return null;
  const offer = offerOf(state, session.heldBy);
  const write = (value: string) => {
    setText(value);
    setMenuClosed(false);
    setPicked(0);
    writeDraft(session.id, value);
  };
  const menu = menuClosed || offer.kind === "locked" ? [] : menuOf(text, state.session.commands);
  const send = (sending: Sending) => {
    const command = commandOf(sending, text);
    if (command !== null && session.send(command)) write("");
    box.current?.focus();
  };
  const pick = (command: SlashCommand) => {
    write(`/${command.name} `);
    box.current?.focus();
  };
  const stop = () => void session.send({ type: "cancel" });
  const onKeyDown = (event: KeyboardEvent) => {
    const act = keyAct(event, offer, menu.length > 0);
    if (act === null) return;
    event.preventDefault();
    if (act === "submit" || act === "steer") send(act);
    else if (act === "stop") stop();
    else if (act === "close-menu") setMenuClosed(true);
    else if (act === "pick") {
      const command = menu[picked] ?? menu[0]!;
      // A complete name needs no selection.
      if (event.key === "Enter" && text === `/${command.name}`) send("submit");
      else pick(command);
    }
    else setPicked((picked + (act === "next" ? 1 : menu.length - 1)) % menu.length);
  };

  const locked = offer.kind === "locked";
  const empty = text.trim() === "";
  return (
    <section class="prompt" aria-label="Prompt">
      {menu.length > 0 && <Menu commands={menu} picked={picked} onPick={pick} />}
      <div class="prompt-box" data-locked={locked}>
        <div class="grow" data-text={text}>
          <textarea
            ref={box}
            rows={1}
            value={text}
            readOnly={locked}
            placeholder={locked ? "You are watching" : offer.kind === "running" ? "Queue the next prompt, or steer…" : "What should the agent do? / for commands"}
            aria-label="Prompt"
            aria-autocomplete="list"
            aria-haspopup="listbox"
            aria-controls="commands"
            aria-activedescendant={menu.length > 0 ? `command-${picked}` : undefined}
            onInput={(event) => write(event.currentTarget.value)}
            onKeyDown={onKeyDown}
          />
        </div>
        <div class="prompt-bar">
          <Settings session={session} locked={locked} />
          <div class="prompt-acts">
            {offer.kind === "running" && (
              <>
                <button type="button" class="stop" onClick={stop} title="Stop the current run (Esc)">
                  <Icon name="stop" /> Stop
                </button>
                <button type="button" disabled={empty} onClick={() => send("steer")} title="Send to the agent at its next safe point (Ctrl+Enter)">
                  {offer.steer}
                </button>
                <button type="button" class="primary" disabled={empty} onClick={() => send("submit")} title="Run after the current run (Enter)">
                  {offer.submit}
                </button>
              </>
            )}
            {offer.kind === "idle" && (
              <button type="button" class="primary" disabled={empty} onClick={() => send("submit")} title="Enter; Shift+Enter for a new line">
                <Icon name="up" /> {offer.submit}
              </button>
            )}
            {offer.kind === "locked" && (
              <button type="button" class="primary" onClick={() => void session.send({ type: "takeover" })}>
                Take over
              </button>
            )}
          </div>
        </div>
      </div>
      {locked && (
        <p class="held" role="status">
          <strong><Shown text={offer.by} as="line" /></strong> controls this session. You can watch, or take over.
        </p>
      )}
    </section>
  );
}

function Menu({ commands, picked, onPick }: { commands: SlashCommand[]; picked: number; onPick: (command: SlashCommand) => void }) {
  const row = useRef<HTMLLIElement>(null);
  useEffect(() => row.current?.scrollIntoView({ block: "nearest" }), [picked]);
  return (
    <ul class="menu" id="commands" role="listbox" aria-label="Commands">
      {commands.map((command, at) => (
        <li
          key={command.name}
          id={`command-${at}`}
          role="option"
          aria-selected={at === picked}
          ref={at === picked ? row : null}
          onMouseDown={(event) => {
            // The box keeps the focus.
            event.preventDefault();
            onPick(command);
          }}
        >
          <span class="menu-name">/<Shown text={command.name} as="line" /></span>
          {command.hint && <span class="menu-hint"><Shown text={command.hint} as="line" /></span>}
          <span class="menu-what"><Shown text={command.description} as="line" /></span>
        </li>
      ))}
    </ul>
  );
}
