// Owns finding out why a handshake failed. A browser does not tell, so the page asks in other ways.
import { whoAmI } from "./auth.js";
import type { Verdict } from "./link.js";

export type Attempt = {
  /** The address that was refused. */
  url: string;
  /** The session it was for; null where there was none yet. */
  id: string | null;
  /** The folder that a new session was to have. */
  cwd: string | null;
};

const BAD_FOLDER = "The server could not open that folder: it must be an absolute path to an existing directory.";
const LONGEST_WORDS = 400;
/** The server's answer to a request that lacks nothing but the upgrade. */
const ONLY_THE_UPGRADE = 426;

export async function verdictOn({ url, id, cwd }: Attempt): Promise<Verdict | { kind: "signed out" }> {
  const who = await whoAmI();
  if (who.kind === "out") return { kind: "signed out" };
  if (who.kind === "unreachable") return { kind: "retry", reached: false };
  // The same question without the upgrade: who is refused for the address itself hears why.
  const asked = await ask(url.replace(/^ws/, "http"), [ONLY_THE_UPGRADE]);
  if (asked !== null) return asked;
  if (id !== null) {
    const log = new URL("state/timeline", document.baseURI);
    log.searchParams.set("session", id);
    log.searchParams.set("limit", "1");
    const told = await ask(log.href, []);
    if (told !== null) return told;
  } else if (cwd !== null) {
    return { kind: "refused", why: BAD_FOLDER };
  }
  return { kind: "retry", reached: true };
}

/** Null when the answer is good, or one of those that were expected. */
async function ask(url: string, expected: number[]): Promise<Verdict | null> {
  const response = await fetch(url, { cache: "no-store" }).catch(() => null);
  if (response === null) return { kind: "retry", reached: false };
  if (response.ok || expected.includes(response.status)) return null;
  // The server itself, or what stands before it, is not well: that may pass.
  if (response.status >= 500) return { kind: "retry", reached: true };
  return { kind: "refused", why: `The server refuses: ${await wordsOf(response)}` };
}

async function wordsOf(response: Response): Promise<string> {
  const text = await response.text().catch(() => "");
  let words = text;
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    if (typeof error === "string") words = error;
  } catch {
    // Words without a wrapping are words, too.
  }
  words = words.trim().slice(0, LONGEST_WORDS);
  return words === "" ? `it answered ${response.status}.` : words;
}
