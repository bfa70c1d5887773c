// Owns cutting a growing Markdown text into finished blocks, so that the page does not parse a long answer again for each chunk.
import { Lexer, type Token } from "marked";
import { readable, sections, type Section } from "./sections.js";

/** A top-level piece: parsed Markdown, or plain text. The same object as long as its content is the same. */
export type Block = { tokens: Token[] } | { plain: string };

const LONGEST_OPEN = 16_384;
const PLAIN_PIECE = 4_096;

/** The blocks of one text that mostly grows at its end. */
export class Blocks {
  #text = "";
  #done: Block[] = [];
  /** The start of the part whose meaning may still change. */
  #openAt = 0;
  #open: Block[] = [];
  #ended = false;

  update(content: string, ended: boolean): Block[] {
    const text = content.includes("\r") ? content.replaceAll("\r\n", "\n").replaceAll("\r", "\n") : content;
    if (text === this.#text && ended === this.#ended) return [...this.#done, ...this.#open];
    if (!text.startsWith(this.#text)) this.#forget();
    this.#text = text;
    this.#ended = ended;
    this.#read();
    return [...this.#done, ...this.#open];
  }

  #forget(): void {
    this.#done = [];
    this.#openAt = 0;
  }

  #read(): void {
    const found = sections(this.#text.slice(this.#openAt));
    const open = this.#ended ? undefined : found.pop();
    for (const section of found) {
      this.#done.push(...blocksOf(section));
      this.#openAt += section.text.length;
    }
    // Long code that still grows is shown as plain text: parsing it each frame would cost too much.
    this.#open = open === undefined ? [] : open.text.length > LONGEST_OPEN ? plainPieces(open.text) : blocksOf(open);
  }
}

function blocksOf(section: Section): Block[] {
  const tokens = readable(section) ? lex(section.text) : null;
  if (tokens === null) return plainPieces(section.text.replace(/\n+$/, ""));
  return tokens.filter((token) => token.type !== "space").map((token) => ({ tokens: [token] }));
}

/** Null when the text cannot be parsed, or when its pieces do not add up to it. */
function lex(text: string): Token[] | null {
  try {
    const tokens = new Lexer({ gfm: true }).lex(text);
    return tokens.reduce((sum, token) => sum + token.raw.length, 0) === text.length ? tokens : null;
  } catch {
    // Nested too deep, for instance: shown as text.
    return null;
  }
}

/** Pieces of whole lines: only the last one changes when the text grows. */
export function plainPieces(text: string): Block[] {
  const pieces: Block[] = [];
  let from = 0;
  while (from < text.length) {
    const cut = text.length - from <= PLAIN_PIECE ? -1 : text.indexOf("\n", from + PLAIN_PIECE);
    const to = cut === -1 ? text.length : cut;
    pieces.push({ plain: text.slice(from, to) });
    from = to + 1;
  }
  return pieces;
}

/** The blocks of the messages that were used last. */
export class BlockCache {
  #known = new Map<string, Blocks>();

  constructor(readonly most = 200) {}

  get(id: string, content: string, ended: boolean): Block[] {
    const blocks = this.#known.get(id) ?? new Blocks();
    this.#known.delete(id);
    this.#known.set(id, blocks);
    if (this.#known.size > this.most) this.#known.delete(this.#known.keys().next().value!);
    return blocks.update(content, ended);
  }
}

const NAMED: Record<string, string> = {
  amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", copy: "©", reg: "®", trade: "™", hellip: "…",
  mdash: "—", ndash: "–", lsquo: "‘", rsquo: "’", ldquo: "“", rdquo: "”", bull: "•", middot: "·", times: "×", deg: "°",
  larr: "←", rarr: "→", uarr: "↑", darr: "↓", euro: "€", laquo: "«", raquo: "»", le: "≤", ge: "≥", ne: "≠",
};

/** Replaces character references with characters; unknown ones stay as written. */
export function unescape(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z]{2,8}));/g, (whole, dec, hex, named) => {
    if (named) return Object.hasOwn(NAMED, named) ? NAMED[named]! : whole;
    const code = dec ? Number(dec) : Number.parseInt(hex, 16);
    const fits = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return fits ? String.fromCodePoint(code) : "\ufffd";
  });
}

/** An address that a link may have: only http and https, and only as the browser itself would parse it. */
export function safeHref(href: string): string | null {
  try {
    const url = new URL(unescape(href));
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
  } catch {
    return null;
  }
}
