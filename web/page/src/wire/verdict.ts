// Finds out why a handshake failed. A browser does not report it, so the page sends other requests.
import { whoAmI } from "./auth.js";
import type { Verdict } from "./link.js";

export type Attempt = {
  /** The address that the server rejected. */
  url: string;
  /** The session of the socket; null for a new session. */
  id: string | null;
  /** The folder for a new session. */
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
  // The same request without the upgrade: if the address itself is wrong, the answer has the reason.
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

/** Null when the answer is a success, or one of the expected statuses. */
async function ask(url: string, expected: number[]): Promise<Verdict | null> {
  const response = await fetch(url, { cache: "no-store" }).catch(() => null);
  if (response === null) return { kind: "retry", reached: false };
  if (response.ok || expected.includes(response.status)) return null;
  // The server or a proxy before it has an error, which may be temporary.
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
    // A body that is not JSON is shown as text.
  }
  words = words.trim().slice(0, LONGEST_WORDS);
  return words === "" ? `it answered ${response.status}.` : words;
}
