// Owns a live copy of a document: folds frames into it in place, counts versions, and notifies listeners once a frame.
import { fold, type Root } from "./fold.js";
import type { Json, Op } from "./types.js";

/** Calls back before the next paint, or soon when the page is hidden and paints nothing. */
export type Schedule = (run: () => void) => void;

export const nextFrame: Schedule = (run) => {
  let done = false;
  const once = () => {
    if (done) return;
    done = true;
    clearTimeout(timer);
    run();
  };
  // A hidden page gets no animation frames, but its title must still show that the agent waits for a person.
  const timer = setTimeout(once, 250);
  if (!document.hidden) requestAnimationFrame(once);
};

/** Topics and their listeners; all changes within a frame cause one notification. */
export class Topics {
  #listeners = new Map<string, Set<() => void>>();
  #dirty = new Set<string>();
  #waiting = false;
  #versions = new Map<string, number>();

  constructor(readonly schedule: Schedule = nextFrame) {}

  on(topics: readonly string[], listener: () => void): () => void {
    for (const topic of topics) {
      const set = this.#listeners.get(topic) ?? new Set();
      this.#listeners.set(topic, set.add(listener));
    }
    return () => {
      for (const topic of topics) this.#listeners.get(topic)?.delete(listener);
    };
  }

  version(topic: string): number {
    return this.#versions.get(topic) ?? 0;
  }

  touch(topic: string): void {
    this.#versions.set(topic, this.version(topic) + 1);
    this.#dirty.add(topic);
    if (this.#waiting) return;
    this.#waiting = true;
    this.schedule(() => this.#flush());
  }

  #flush(): void {
    this.#waiting = false;
    const told = new Set<() => void>();
    for (const topic of this.#dirty) for (const fn of this.#listeners.get(topic) ?? []) told.add(fn);
    this.#dirty.clear();
    for (const fn of told) fn();
  }
}

/** A document whose top-level members are the topics. The state is changed in place: compare versions, not values. */
export class Doc<T> extends Topics {
  #root: Root = { doc: null };
  #counter = 0;
  #base = 0;
  #rows: number[] = [];

  get state(): T | null {
    return this.#root.doc as T | null;
  }

  /** The version of `messages[index]`: when it is the same, the message is. */
  rowVersion(index: number): number {
    return this.#rows[index] ?? this.#base;
  }

  replace(state: Json): void {
    const old = this.#root.doc;
    this.#root.doc = state;
    this.#base = ++this.#counter;
    this.#rows = [];
    for (const doc of [old, state]) {
      if (doc !== null && typeof doc === "object") for (const key of Object.keys(doc)) this.touch(key);
    }
    this.touch("*");
  }

  /** Throws `Misfit` without changing anything. */
  apply(ops: Op[]): void {
    fold(this.#root, ops, (path) => this.#touched(path));
  }

  #touched(path: string[]): void {
    const [key, index] = path;
    if (key === undefined) {
      this.replace(this.#root.doc);
      return;
    }
    if (key === "messages") {
      if (index === undefined) {
        this.#base = ++this.#counter;
        this.#rows = [];
      } else {
        this.#rows[Number(index)] = ++this.#counter;
      }
    }
    this.touch(key);
  }
}
