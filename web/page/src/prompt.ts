// Owns the behaviour of the prompt box for keys and text, as pure functions: send, queue, steer, stop, and the command menu.
import type { Command, HarnessState, SlashCommand } from "./wire/types.js";

export type Sending = "submit" | "steer";

/** The actions that the box allows now, with their labels. */
export type Offer =
  | { kind: "locked"; by: string }
  | { kind: "idle"; submit: "Send" }
  | { kind: "running"; submit: "Queue"; steer: "Steer now" };

export function offerOf(state: Pick<HarnessState, "status">, heldBy: string | null): Offer {
  if (heldBy !== null) return { kind: "locked", by: heldBy };
  if (state.status === "running") return { kind: "running", submit: "Queue", steer: "Steer now" };
  return { kind: "idle", submit: "Send" };
}

/** The command for a text; null when the text is empty. */
export function commandOf(sending: Sending, text: string): Command | null {
  if (text.trim() === "") return null;
  return sending === "submit" ? { type: "submit", prompt: text } : { type: "steer", message: text };
}

export type Key = {
  key: string;
  shiftKey: boolean;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  isComposing: boolean;
};
export type KeyAct = "submit" | "steer" | "stop" | "pick" | "next" | "previous" | "close-menu" | null;

/** The meaning of a key in the box; null leaves it to the box. */
export function keyAct(key: Key, offer: Offer, menuOpen: boolean): KeyAct {
  // During composition of a character, Enter belongs to the input method.
  if (key.isComposing) return null;
  const modified = key.ctrlKey || key.metaKey;
  if (menuOpen) {
    if (key.key === "ArrowDown") return "next";
    if (key.key === "ArrowUp") return "previous";
    if (key.key === "Escape") return "close-menu";
    if ((key.key === "Enter" && !key.shiftKey && !modified) || key.key === "Tab") return "pick";
  }
  if (offer.kind === "locked") return null;
  if (key.key === "Escape") return offer.kind === "running" ? "stop" : null;
  if (key.key !== "Enter" || key.shiftKey || key.altKey) return null;
  return modified && offer.kind === "running" ? "steer" : "submit";
}

/** The commands that fit what is typed; none unless the text is a slash and the beginning of a name. */
export function menuOf(text: string, commands: SlashCommand[]): SlashCommand[] {
  const match = /^\/(\S*)$/.exec(text);
  if (!match) return [];
  const typed = match[1]!.toLowerCase();
  const begins = commands.filter(({ name }) => name.toLowerCase().startsWith(typed));
  const holds = commands.filter(({ name }) => !begins.some((known) => known.name === name) && name.toLowerCase().includes(typed));
  return [...begins, ...holds];
}

/** Puts texts that did not arrive before the current text of the box. */
export function putBack(lost: string[], draft: string): string {
  return [...lost, draft].filter((text) => text.trim() !== "").join("\n\n");
}
