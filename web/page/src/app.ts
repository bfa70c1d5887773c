// Owns the page's own state: who is signed in, where the address points, the open session and the list of sessions.
import { signIn, signOut, takeCode, whoAmI, type Who } from "./wire/auth.js";
import { Topics } from "./wire/doc.js";
import { Feed, socketUrl } from "./wire/feed.js";
import { applyTheme, clientName, readDraft, readTheme, renameClient, watchForSignOut, watchForTwin, writeDraft, type Theme } from "./wire/kept.js";
import type { Verdict } from "./wire/link.js";
import { Session } from "./wire/session.js";
import type { SessionsState } from "./wire/types.js";
import { verdictOn, type Attempt } from "./wire/verdict.js";
import { commandOf, putBack } from "./prompt.js";
import { formatRoute, parseRoute, type Route, type Tab } from "./route.js";

export type Drawer = "sessions" | "details" | null;

export class App extends Topics {
  who: Who | { kind: "asking" } = { kind: "asking" };
  route: Route = { session: null, tab: "talk" };
  session: Session | null = null;
  drawer: Drawer = null;
  theme: Theme = readTheme();
  /** The folder in the form for a new session, once somebody wrote one, and why the last one could not be made. */
  folder: string | null = null;
  unmade = "";
  /** The time of a message that the transcript should show next. */
  jumpTo: number | null = null;
  readonly sessions: Feed<SessionsState>;
  #name: string;
  #copied: boolean;
  #begun = false;
  #tellSignedOut = watchForSignOut(() => this.#signedOut("You signed out in another tab."));

  constructor() {
    super();
    ({ name: this.#name, copied: this.#copied } = clientName());
    this.sessions = new Feed(() => socketUrl("ws/sessions"), {
      onHandshakeFailed: () => this.#verdict({ url: socketUrl("ws/sessions"), id: null, cwd: null }),
    });
    applyTheme(this.theme);
  }

  async start(): Promise<void> {
    window.addEventListener("hashchange", () => void this.#follow());
    const settled = watchForTwin(() => this.#name, () => this.#rename());
    // Under a name that another tab has, this one would first be taken for it.
    if (this.#copied) await settled;
    await this.#follow();
  }

  go(route: Route): void {
    const hash = formatRoute(route);
    if (hash === location.hash) this.#show(route);
    else location.hash = hash;
  }

  showTab(tab: Tab): void {
    if (this.session?.id) this.go({ session: this.session.id, tab });
  }

  /** Goes to the message that was there at that time. */
  showMessageAt(at: number): void {
    this.jumpTo = at;
    this.touch("jump");
    this.showTab("talk");
  }

  /** Makes a session in the folder of the form, and sends it the prompt where there is one. */
  newSession(prompt: string): void {
    this.unmade = "";
    this.#open(null, this.folder?.trim() || null, prompt);
    this.setDrawer(null);
  }

  async enter(token: string): Promise<string | null> {
    const why = await signIn({ token });
    if (why === null) this.#begin();
    return why;
  }

  async leave(): Promise<void> {
    await signOut();
    this.#tellSignedOut();
    this.#signedOut("You are signed out.");
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    applyTheme(theme);
    this.touch("theme");
  }

  setDrawer(drawer: Drawer): void {
    this.drawer = drawer;
    this.touch("drawer");
  }

  async #follow(): Promise<void> {
    const code = takeCode();
    if (code === null) {
      if (this.#begun) this.#show(parseRoute(location.hash));
      else this.#begin();
      return;
    }
    const why = await signIn({ code });
    // A used code does no harm to whoever is signed in already.
    if (why === null || (await whoAmI()).kind === "in") this.#begin();
    else this.#signedOut(why);
  }

  /** Asks who we are and opens the sockets at the same time: mostly the answer is yes. */
  #begin(): void {
    this.#begun = true;
    this.who = { kind: "asking" };
    this.touch("who");
    // The session first: a browser opens one socket to a host after the other.
    this.#show(parseRoute(location.hash));
    this.sessions.link.start();
    void this.#ask();
  }

  async #ask(): Promise<void> {
    const who = await whoAmI();
    if (who.kind === "out") this.#signedOut(who.why);
    else this.who = who;
    this.touch("who");
  }

  #signedOut(why: string): void {
    this.sessions.link.stop();
    this.session?.link.stop();
    this.session = null;
    this.who = { kind: "out", why };
    this.touch("who");
    this.touch("session");
  }

  #show(route: Route): void {
    this.route = route;
    this.touch("route");
    if (this.who.kind === "out") return;
    this.setDrawer(null);
    if (route.session === null) this.#close();
    else if (this.session?.id !== route.session) this.#open(route.session, null);
  }

  #close(): void {
    this.session?.link.stop();
    this.session = null;
    this.touch("session");
  }

  #open(id: string | null, cwd: string | null, prompt = ""): void {
    this.#close();
    const session: Session = new Session({
      id,
      cwd,
      client: this.#name,
      onHandshakeFailed: async (attempt) => this.#unmade(session, await this.#verdict(attempt)),
      onId: (made) => this.#made(session, made, prompt),
      onLost: (texts) => {
        writeDraft(session.id, putBack(texts, readDraft(session.id)));
        session.doc.touch("draft");
      },
    });
    this.session = session;
    session.link.start();
  }

  /** A session that was just made gets its address without a step in the history. */
  #made(session: Session, id: string, prompt: string): void {
    if (this.session !== session) return;
    this.folder = null;
    // What was written for a session that did not exist yet is this one's now: sent, or else in its box.
    writeDraft(null, "");
    const command = commandOf("submit", prompt);
    if (command !== null && !session.send(command)) {
      writeDraft(id, prompt);
      session.doc.touch("draft");
    }
    this.route = { session: id, tab: "talk" };
    history.replaceState(null, "", formatRoute(this.route));
    this.touch("route");
    this.touch("session");
  }

  #rename(): void {
    this.#name = renameClient();
    if (this.session) this.#open(this.session.id, null);
  }

  async #verdict(attempt: Attempt): Promise<Verdict> {
    const verdict = await verdictOn(attempt);
    if (verdict.kind !== "signed out") return verdict;
    this.#signedOut("Please sign in again.");
    return { kind: "refused", why: "Signed out." };
  }

  /** A session that could not be made leaves nothing to show but the form, as it was, and the reason. */
  #unmade(session: Session, verdict: Verdict): Verdict {
    if (verdict.kind !== "refused" || session.id !== null || this.session !== session) return verdict;
    this.#close();
    this.unmade = verdict.why;
    this.touch("unmade");
    return verdict;
  }
}
