// Owns the prompts that were sent but not yet seen in the document, so that none is lost with a connection.
import type { Message } from "./types.js";

type Waiting = { text: string; from: number };

export class Outbox {
  #waiting: Waiting[] = [];

  /** Adds a prompt that was sent while the document had `count` messages. */
  sent(text: string, count: number): void {
    this.#waiting.push({ text: text.trim(), from: count });
  }

  get empty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Removes the prompts that the document shows; each message matches one prompt. */
  confirm(messages: Message[]): void {
    const used = new Set<number>();
    this.#waiting = this.#waiting.filter(({ text, from }) => {
      for (let i = Math.min(from, messages.length); i < messages.length; i++) {
        const message = messages[i]!;
        if (message.role !== "user" || used.has(i) || message.content.trim() !== text) continue;
        used.add(i);
        return false;
      }
      return true;
    });
  }

  /** Takes the unconfirmed prompts: the server rejected them, or the connection ended before they arrived. */
  take(): string[] {
    const lost = this.#waiting.map(({ text }) => text);
    this.#waiting = [];
    return lost;
  }
}
