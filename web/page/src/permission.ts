// Owns the grammar of a permission question, which the terminal shares: the order of the answers, a key for each, and
// the meaning of a pressed key. Pure.
import type { ApprovalOption } from "./wire/types.js";

export type Answer = {
  option: ApprovalOption;
  key: string;
  /** The label of the button. */
  label: string;
  /** The subject of a lasting answer, if the option's name states it. */
  about: string | null;
};

/** The narrowest allowance first. All letters are lower case. */
const ORDER = ["y", "s", "w", "n", "x"];

function letterOf({ kind, scope }: ApprovalOption): string | null {
  switch (kind) {
    case "allow_once":
      return "y";
    case "allow_always":
      return scope === "session" ? "s" : "w";
    case "reject_once":
      return "n";
    case "reject_always":
      return "x";
    default:
      // A kind of a newer server gets a number.
      return null;
  }
}

const LASTING = /^(always allow|always reject|allow) (.+) (for this session|in this workspace)$/i;

/** The options in their order. If two have the same letter, the second one gets a number. */
export function answersOf(options: ApprovalOption[]): Answer[] {
  const rank = (option: ApprovalOption) => {
    const letter = letterOf(option);
    return letter === null ? ORDER.length : ORDER.indexOf(letter);
  };
  const taken = new Set<string>();
  return options.toSorted((a, b) => rank(a) - rank(b)).map((option, at) => {
    const letter = letterOf(option);
    const key = letter === null || taken.has(letter) ? String(at + 1) : letter;
    taken.add(key);
    const [, verb, about, scope] = LASTING.exec(option.name) ?? [];
    if (verb === undefined || about === undefined) return { option, key, label: option.name, about: null };
    return { option, key, label: `${verb} ${scope}`, about };
  });
}

/** The answer of a key. Capitals count only for the two answers that are valid once: a user may press Shift by accident. */
export function answerOf<A extends { key: string }>(answers: A[], pressed: string): A | undefined {
  const key = pressed === "Y" || pressed === "N" ? pressed.toLowerCase() : pressed;
  return answers.find((answer) => answer.key === key);
}

export const allows = ({ kind }: ApprovalOption): boolean => kind === "allow_once" || kind === "allow_always";

/** Whether an answer creates a rule that outlives this call. */
export const lasts = ({ kind }: ApprovalOption): boolean => kind === "allow_always" || kind === "reject_always";

export type PressedKey = {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  isComposing: boolean;
  repeat: boolean;
};

/** The pressed character; null for keys of the browser, and for the repeats of a pressed key. */
export function characterOf({ key, ctrlKey, metaKey, altKey, isComposing, repeat }: PressedKey): string | null {
  if (ctrlKey || metaKey || altKey || isComposing || repeat || key === " ") return null;
  return [...key].length === 1 ? key : null;
}
