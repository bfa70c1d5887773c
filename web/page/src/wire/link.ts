// Owns one WebSocket that reconnects: backoff and reasons. It does not interpret frames.

export type LinkState =
  | { kind: "connecting"; since: number | null }
  | { kind: "open" }
  | { kind: "away"; since: number; retryAt: number }
  | { kind: "refused"; why: string }
  | { kind: "closed" };

/** The reason of a failed handshake; a browser does not report it, so the page finds it out in another way. */
export type Verdict = { kind: "retry"; reached: boolean } | { kind: "refused"; why: string };

export type SocketLike = Pick<WebSocket, "send" | "close" | "readyState"> & {
  onopen: (() => void) | null;
  onclose: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
};

export type LinkOptions = {
  url: () => string;
  connect?: (url: string) => SocketLike;
  onFrame: (text: string) => void;
  onState: (state: LinkState) => void;
  onHandshakeFailed?: () => Promise<Verdict>;
};

const FIRST_WAIT = 500;
const LONGEST_WAIT = 10_000;
/** A connection that lasted this long was a good one: the next wait starts small again. */
const GOOD_AFTER = 3_000;
const HANDSHAKE_LIMIT = 10_000;
/** How often a server may reject without a reason before the user must retry by hand. */
const MOST_UNEXPLAINED = 3;
const UNEXPLAINED = "The server rejects this connection without a reason.";
const OPEN = 1;

export class Link {
  #options: LinkOptions;
  #socket: SocketLike | null = null;
  #state: LinkState = { kind: "closed" };
  #failures = 0;
  #unexplained = 0;
  #lastOpen: number | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #wake = () => {
    if (this.#state.kind === "away" && !document.hidden) this.retry();
  };

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  get state(): LinkState {
    return this.#state;
  }

  start(): void {
    window.addEventListener("online", this.#wake);
    document.addEventListener("visibilitychange", this.#wake);
    this.#open();
  }

  stop(): void {
    window.removeEventListener("online", this.#wake);
    document.removeEventListener("visibilitychange", this.#wake);
    this.#abandon();
    this.#enter({ kind: "closed" });
  }

  /** Retries now, without waiting. */
  retry(): void {
    if (this.#state.kind === "open" || this.#state.kind === "connecting") return;
    if (this.#state.kind === "refused") this.#failures = this.#unexplained = 0;
    this.#open();
  }

  /** Replaces this connection with a new one, which begins with a fresh state. */
  drop(): void {
    this.#abandon();
    this.#away();
  }

  /** False when there is no connection: nothing was sent, and nothing will be. */
  send(text: string): boolean {
    if (this.#state.kind !== "open" || this.#socket?.readyState !== OPEN) return false;
    this.#socket.send(text);
    return true;
  }

  #open(): void {
    this.#abandon();
    this.#enter({ kind: "connecting", since: this.#lastOpen });
    const connect = this.#options.connect ?? ((url) => new WebSocket(url, "harn.state.v1") as SocketLike);
    const socket = connect(this.#options.url());
    this.#socket = socket;
    let opened = false;
    this.#timer = setTimeout(() => socket.close(), HANDSHAKE_LIMIT);
    socket.onopen = () => {
      opened = true;
      this.#unexplained = 0;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => (this.#failures = 0), GOOD_AFTER);
      this.#lastOpen = null;
      this.#enter({ kind: "open" });
    };
    socket.onmessage = ({ data }) => {
      if (typeof data === "string") this.#options.onFrame(data);
    };
    socket.onclose = () => {
      if (this.#socket !== socket) return;
      this.#abandon();
      this.#away();
      if (!opened) void this.#judge();
    };
  }

  async #judge(): Promise<void> {
    const state = this.#state;
    const verdict = await this.#options.onHandshakeFailed?.();
    if (verdict === undefined) return;
    // Only failures in a row count: a server that was away in between has another reason.
    if (verdict.kind === "retry") this.#unexplained = verdict.reached ? this.#unexplained + 1 : 0;
    if (this.#state !== state) return;
    const refused = verdict.kind === "refused" ? verdict.why : this.#unexplained >= MOST_UNEXPLAINED ? UNEXPLAINED : null;
    if (refused === null) return;
    clearTimeout(this.#timer);
    this.#enter({ kind: "refused", why: refused });
  }

  #away(): void {
    const wait = Math.min(FIRST_WAIT * 2 ** this.#failures, LONGEST_WAIT);
    this.#failures += 1;
    this.#lastOpen ??= Date.now();
    this.#enter({ kind: "away", since: this.#lastOpen, retryAt: Date.now() + wait });
    this.#timer = setTimeout(() => this.#open(), wait);
  }

  #abandon(): void {
    clearTimeout(this.#timer);
    const socket = this.#socket;
    this.#socket = null;
    if (socket === null) return;
    socket.onopen = socket.onclose = socket.onmessage = null;
    socket.close();
  }

  #enter(state: LinkState): void {
    this.#state = state;
    this.#options.onState(state);
  }
}
