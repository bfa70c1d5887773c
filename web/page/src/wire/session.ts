// Owns one attached session: the commands it may send, their outcomes, and the messages when it may not send them.
import { Feed, socketUrl, type FeedSetup } from "./feed.js";
import type { Verdict } from "./link.js";
import { Outbox } from "./outbox.js";
import type { Attempt } from "./verdict.js";
import type { Command, HarnessState } from "./types.js";

export type Notice = { id: number; text: string };

export type SessionSetup = Omit<FeedSetup, "onHandshakeFailed"> & {
  /** Null creates a new session. */
  id: string | null;
  cwd?: string | null;
  /** The name to attach under; null only watches. */
  client: string | null;
  onHandshakeFailed?: (attempt: Attempt) => Promise<Verdict>;
  onId?: (id: string) => void;
  /** Prompts that did not arrive: they return to the prompt box. */
  onLost?: (texts: string[]) => void;
};

const NOTICE_LASTS = 15_000;

export class Session extends Feed<HarnessState> {
  readonly client: string | null;
  readonly outbox = new Outbox();
  notices: Notice[] = [];
  id: string | null;
  #setup: SessionSetup;
  #nextNotice = 1;

  constructor(setup: SessionSetup) {
    const { onHandshakeFailed, ...rest } = setup;
    super(() => this.#url(), {
      ...rest,
      onHandshakeFailed: () => onHandshakeFailed?.(this.#attempt()) ?? Promise.resolve({ kind: "retry", reached: false }),
    });
    this.#setup = setup;
    this.id = setup.id;
    this.client = setup.client;
  }

  #attempt(): Attempt {
    return { url: this.#url(), id: this.id, cwd: this.#setup.cwd ?? null };
  }

  #url(): string {
    return socketUrl("ws", {
      session: this.id ?? "new",
      cwd: this.id === null ? this.#setup.cwd : null,
      client: this.client,
      role: this.client === null ? "observer" : null,
    });
  }

  /** The name of the controller while another client controls the session. */
  get heldBy(): string | null {
    const controller = this.state?.controller ?? null;
    return controller === this.client ? null : controller;
  }

  /** False when it was not sent; a notice shows the reason. */
  send(command: Command): boolean {
    const { state } = this;
    if (this.link.state.kind !== "open") return this.#unsent("there is no connection to the server.");
    if (state === null) return this.#unsent("the session is still loading.");
    if (!this.link.send(JSON.stringify({ type: "commands", commands: [command] }))) {
      return this.#unsent("the connection was lost at this moment.");
    }
    if (command.type === "submit") this.#said(command.prompt, state);
    if (command.type === "steer") this.#said(command.message, state);
    return true;
  }

  notify(text: string): void {
    // Does not show the same notice twice.
    const others = this.notices.filter((notice) => notice.text !== text);
    const id = this.#nextNotice++;
    this.notices = [...others, { id, text }].slice(-3);
    this.doc.touch("notices");
    setTimeout(() => this.dismiss(id), NOTICE_LASTS);
  }

  dismiss(id: number): void {
    this.notices = this.notices.filter((notice) => notice.id !== id);
    this.doc.touch("notices");
  }

  protected override replaced(): void {
    const { messages, session } = this.state!;
    this.outbox.confirm(messages);
    if (!this.outbox.empty) {
      this.notify("A message was lost with the connection. It is back in the box.");
      this.#giveBack();
    }
    if (this.id === session.id) return;
    this.id = session.id;
    this.#setup.onId?.(session.id);
  }

  protected override changed(): void {
    if (!this.outbox.empty) this.outbox.confirm(this.state!.messages);
  }

  protected override refused(message: string): void {
    this.notify(message);
    this.#giveBack();
  }

  /** Notifies the topic `said`, so that the transcript scrolls to a message sent from this page. */
  #said(text: string, { messages }: HarnessState): void {
    this.outbox.sent(text, messages.length);
    this.doc.touch("said");
  }

  #giveBack(): void {
    const lost = this.outbox.take();
    if (lost.length > 0) this.#setup.onLost?.(lost);
  }

  #unsent(why: string): false {
    this.notify(`Not sent: ${why}`);
    return false;
  }
}
