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
  /** The folder in the form for a new session, if the user entered one, and why the last session could not be created. */
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
    // A duplicated tab needs its own name first; otherwise the server takes it for the other tab.
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

  /** Shows the message of that time. */
  showMessageAt(at: number): void {
    this.jumpTo = at;
    this.touch("jump");
    this.showTab("talk");
  }

  /** Creates a session in the folder of the form, and sends it the prompt if there is one. */
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
    // A used code is no error for a user who is already signed in.
    if (why === null || (await whoAmI()).kind === "in") this.#begin();
    else this.#signedOut(why);
  }

  /** Checks the sign-in and opens the sockets at the same time: the user is usually signed in. */
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

  /** Sets the address of a new session without a step in the history. */
  #made(session: Session, id: string, prompt: string): void {
    if (this.session !== session) return;
    this.folder = null;
    // The text for the new session now belongs to this session: it is sent, or put into its prompt box.
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

  /** If a session could not be created, shows the unchanged form and the reason. */
  #unmade(session: Session, verdict: Verdict): Verdict {
    if (verdict.kind !== "refused" || session.id !== null || this.session !== session) return verdict;
    this.#close();
    this.unmade = verdict.why;
    this.touch("unmade");
    return verdict;
  }
}
