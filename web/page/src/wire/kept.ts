// Owns the data in the browser's storage: the tab's name, drafts, the theme. If storage is forbidden, nothing is stored.

function storage(kind: "localStorage" | "sessionStorage"): Storage | null {
  try {
    return window[kind];
  } catch {
    return null;
  }
}

function read(kind: "localStorage" | "sessionStorage", key: string): string | null {
  try {
    return storage(kind)?.getItem(key) ?? null;
  } catch {
    return null;
  }
}

function write(kind: "localStorage" | "sessionStorage", key: string, value: string | null): void {
  try {
    if (value === null || value === "") storage(kind)?.removeItem(key);
    else storage(kind)?.setItem(key, value);
  } catch {
    // Full or forbidden: the page works without it.
  }
}

const CLIENT = "harn.client";
const TWIN_ANSWERS_WITHIN = 60;

export function freshName(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(4));
  return `web-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/**
 * Whether a client's name is one that a tab chose. Only one principal can see a session, so the user of this page sent
 * all messages of such a client: from this tab, before a reload, or from another browser.
 */
export const isPage = (name: string): boolean => /^web-[0-9a-f]{8}$/.test(name);

/** The name this tab attaches under; the same after a reload. `copied`: it may be a copy, as this tab may be. */
export function clientName(): { name: string; copied: boolean } {
  const known = read("sessionStorage", CLIENT);
  if (known === null || !isPage(known)) return { name: renameClient(), copied: false };
  const [how] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
  return { name: known, copied: how?.type !== "reload" };
}

export function renameClient(): string {
  const name = freshName();
  write("sessionStorage", CLIENT, name);
  return name;
}

/**
 * A duplicated tab begins with a copy of the other's name. The older tab answers a newcomer that has its name, and the
 * newcomer calls `onTwin` to take another. A reloaded tab gets no answer: the page that had the name no longer exists.
 * Resolves when an answer has arrived, or after the time for one.
 */
export function watchForTwin(name: () => string, onTwin: () => void): Promise<void> {
  if (typeof BroadcastChannel === "undefined") return Promise.resolve();
  const channel = new BroadcastChannel("harn.clients");
  const me = freshName();
  channel.onmessage = ({ data }: MessageEvent<{ hello?: string; taken?: string; from?: string; to?: string }>) => {
    if (data.hello === name()) channel.postMessage({ taken: data.hello, to: data.from });
    if (data.taken !== name() || data.to !== me) return;
    onTwin();
    heard();
  };
  let heard = () => {};
  const settled = new Promise<void>((done) => {
    heard = done;
    setTimeout(done, TWIN_ANSWERS_WITHIN);
  });
  channel.postMessage({ hello: name(), from: me });
  return settled;
}

/** Returns a function that signs out this browser's other tabs, which would otherwise keep their sockets. */
export function watchForSignOut(onSignedOut: () => void): () => void {
  if (typeof BroadcastChannel === "undefined") return () => {};
  const channel = new BroadcastChannel("harn.signed-out");
  channel.onmessage = () => onSignedOut();
  return () => channel.postMessage(null);
}

const draftKey = (session: string | null) => `harn.draft.${session ?? "new"}`;
export const readDraft = (session: string | null): string => read("sessionStorage", draftKey(session)) ?? "";
export const writeDraft = (session: string | null, text: string): void =>
  write("sessionStorage", draftKey(session), text);

export type Theme = "system" | "light" | "dark";
const THEME = "harn.theme";
export function readTheme(): Theme {
  const theme = read("localStorage", THEME);
  return theme === "light" || theme === "dark" ? theme : "system";
}
export function applyTheme(theme: Theme): void {
  write("localStorage", THEME, theme === "system" ? null : theme);
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}
