// Owns the choice of text for the Markdown lexer, whose time grows faster than the text for some texts.

/** Limits of a section for the lexer; the worst texts within them take a few dozen milliseconds, most take one. */
const LONGEST = 16_384;
const MOST_MARKS = 1_000;
const MOST_MARKS_TOGETHER = 500;
const LONGEST_RUN = /([*_~`[\]<\\!(])\1{31}/;
/** The lexer parses lists and quotes once for each level. */
const DEEPEST = /^(?:[ \t]*(?:>[ \t]*|(?:[-+*]|\d{1,9}[.)])[ \t]+){12}|[ \t]{64,}[-+*>\d])/m;
const MOST_LINES = 1_000;
/** A row has as many cells as the head of its table, however short it is. */
const MOST_CELLS = 10_000;
/** For each mark the lexer searches the rest of its paragraph for its partner: marks times characters. */
const MOST_WORK = 2_000_000;
/** Code is not searched for marks, so only its length counts. */
const LONGEST_CODE = 262_144;

/** These start a search; the lexer also searches for an address at each `@`. */
const MARK = /[*_~`[\]<\\!(@]/g;
const FENCE = /^ {0,3}(`{3,31}(?=[^`]*$)|~{3,31})/;
/** Such a line always begins an item, so marks before it end there. */
const ITEM = /^ {0,3}(?:[-+*]|1[.)]) +[^\s]/;
/** After a blank line these may still belong to the list before it. */
const GOES_ON = /^(?:\s|[-+*](?:\s|$)|\d{1,9}(?:$|[.)](?:\s|$)))/;

export type Section = { text: string; code: boolean };

/** Pieces for separate parsing: split at blank lines that end a block, and at fences. They add up to the text. */
export function sections(text: string): Section[] {
  const found: Section[] = [];
  let from = 0;
  let fence: string | null = null;
  let blank = true;
  const cut = (at: number, code: boolean) => {
    if (at > from) found.push({ text: text.slice(from, at), code });
    from = at;
  };
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf("\n", at);
    const next = end === -1 ? text.length : end + 1;
    const line = text.slice(at, end === -1 ? next : end);
    if (fence !== null) {
      if (closes(line, fence)) {
        fence = null;
        cut(next, true);
        blank = true;
      }
    } else if ((fence = FENCE.exec(line)?.[1] ?? null) !== null) {
      cut(at, false);
    } else {
      if (blank && !GOES_ON.test(line) && line !== "") cut(at, false);
      blank = line.trim() === "";
    }
    at = next;
  }
  cut(text.length, fence !== null);
  return found;
}

function closes(line: string, fence: string): boolean {
  const bare = line.trim();
  return bare.length >= fence.length && bare.startsWith(fence) && /^ {0,3}[`~]+ *$/.test(line);
}

/** Whether the lexer may parse the text. Other text is shown as written. */
export function readable({ text, code }: Section): boolean {
  if (code) return text.length <= LONGEST_CODE;
  if (text.length > LONGEST || LONGEST_RUN.test(text) || DEEPEST.test(text)) return false;
  const lines = text.split("\n");
  if (lines.length > MOST_LINES) return false;
  let marks = 0;
  let widest = 0;
  let work = 0;
  let length = 0;
  let here = 0;
  let most = 0;
  for (const line of lines) {
    if (ITEM.test(line)) {
      work += length * here;
      length = here = 0;
    }
    const found = line.match(MARK)?.length ?? 0;
    marks += found;
    here += found;
    most = Math.max(most, here);
    length += line.length + 1;
    widest = Math.max(widest, line.split("|").length);
  }
  work += length * here;
  return marks <= MOST_MARKS && most <= MOST_MARKS_TOGETHER && widest * lines.length <= MOST_CELLS && work <= MOST_WORK;
}
