// Owns a document that a socket keeps current: frames in, a folded copy out; after a misfit it requests a new one.
import { Doc, type Schedule } from "./doc.js";
import { Misfit } from "./fold.js";
import { Link, type LinkOptions, type Verdict } from "./link.js";
import type { Frame } from "./types.js";

export type FeedSetup = {
  connect?: LinkOptions["connect"];
  onHandshakeFailed?: () => Promise<Verdict>;
  schedule?: Schedule;
};

/** The address of a socket beside the page, wherever the page is served. */
export function socketUrl(path: string, query: Record<string, string | null | undefined> = {}): string {
  const url = new URL(path, document.baseURI);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  url.hash = "";
  url.search = "";
  for (const [key, value] of Object.entries(query)) if (value) url.searchParams.set(key, value);
  return url.href;
}

export class Feed<T> {
  readonly doc: Doc<T>;
  readonly link: Link;

  constructor(url: () => string, setup: FeedSetup = {}) {
    this.doc = new Doc(setup.schedule);
    this.link = new Link({
      url,
      onFrame: (text) => this.#frame(text),
      onState: () => this.doc.touch("link"),
      ...(setup.onHandshakeFailed ? { onHandshakeFailed: setup.onHandshakeFailed } : {}),
      ...(setup.connect ? { connect: setup.connect } : {}),
    });
  }

  get state(): T | null {
    return this.doc.state;
  }

  /** After a `state` frame was applied. */
  protected replaced(): void {}
  /** After a delta was folded. */
  protected changed(): void {}
  /** The server rejected a message of this socket. */
  protected refused(_message: string): void {}

  #frame(text: string): void {
    let frame: Frame;
    try {
      frame = JSON.parse(text) as Frame;
    } catch {
      this.link.drop();
      return;
    }
    switch (frame.type) {
      case "state":
        this.doc.replace(frame.state);
        this.replaced();
        return;
      case "delta":
        if (this.#folded(frame)) this.changed();
        return;
      case "error":
        this.refused(frame.message);
        return;
      default:
        // A frame of a later version: nothing here depends on it.
        return;
    }
  }

  #folded(frame: Extract<Frame, { type: "delta" }>): boolean {
    try {
      if (this.state === null) throw new Misfit(null, "a delta before the first state");
      this.doc.apply(frame.operations);
      return true;
    } catch (error) {
      if (!(error instanceof Misfit)) throw error;
      console.warn(error.message);
      this.link.drop();
      return false;
    }
  }
}
