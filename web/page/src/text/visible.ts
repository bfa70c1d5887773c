// Makes characters visible that would change or hide text: controls, direction marks, blanks.

/** Plain text, or a mark in place of characters that must not act. */
export type Piece = string | { mark: string };

/**
 * `block`: several lines, as tool output; `line`: one line, as a title or a path, where even a line break could deceive;
 * `prose`: text of people and models, where joiners belong to words and emoji.
 */
export type Reading = "block" | "line" | "prose";

// Marks an escape sequence as a whole, so that its letters do not look like text.
const ANSI = String.raw`\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b\n]{0,256}(?:\u0007|\u001b\\)?|[@-Z\\^_])?`;
const CONTROLS = String.raw`\u0000-\u0008\u000b-\u001f\u007f-\u009f`;
const DIRECTION = String.raw`\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069`;
// Variation selectors 15 and 16 only choose the style of an emoji, so they are not marked.
const BLANK = String.raw`\u180e\u2028\u2029\u206a-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}\ufe00-\ufe0d`;
const JOINERS = String.raw`\u00ad\u034f\u115f\u1160\u17b4\u17b5\u200b-\u200d\u2060-\u2065\u3164\uffa0`;
const LONE = String.raw`\p{Cs}`;

const pattern = (more: string) => new RegExp(`${ANSI}|[${CONTROLS}${DIRECTION}${BLANK}${LONE}${more}]`, "gu");
const PATTERNS: Record<Reading, RegExp> = {
  block: pattern(JOINERS),
  line: pattern(`${JOINERS}\\t\\n`),
  prose: pattern(String.raw`\u200b\u2060-\u2065`),
};

/** The text in pieces; one piece when there is nothing to mark. */
export function visible(text: string, reading: Reading): Piece[] {
  // A line that ends with both is an ordinary line on some systems.
  const source = reading === "line" || !text.includes("\r") ? text : text.replaceAll("\r\n", "\n");
  const pieces: Piece[] = [];
  let end = 0;
  for (const match of source.matchAll(PATTERNS[reading])) {
    if (match.index > end) pieces.push(source.slice(end, match.index));
    const mark = Array.from(match[0], name).join("");
    const last = pieces.at(-1);
    if (typeof last === "object") last.mark += mark;
    else pieces.push({ mark });
    end = match.index + match[0].length;
  }
  if (end === 0) return source === "" ? [] : [source];
  if (end < source.length) pieces.push(source.slice(end));
  return pieces;
}

/** As one string, for places that take only text, such as labels and the window's title. */
export function visibleText(text: string, reading: Reading = "line"): string {
  return visible(text, reading)
    .map((piece) => (typeof piece === "string" ? piece : piece.mark))
    .join("");
}

// Spelled in letters that every font has; the pictures of control characters are missing in many.
const SHORT: Record<string, string> = { "\t": "\\t", "\n": "\\n", "\r": "\\r" };

function name(char: string): string {
  const code = char.codePointAt(0)!;
  if (Object.hasOwn(SHORT, char)) return SHORT[char]!;
  if (code < 0x20 || code === 0x7f) return `\\x${code.toString(16).padStart(2, "0")}`;
  // The printable rest of an escape sequence.
  if (code < 0x7f) return char;
  if (code > 0xffff) return `\\u{${code.toString(16)}}`;
  return `\\u${code.toString(16).padStart(4, "0")}`;
}
