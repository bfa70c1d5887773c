// A socket to `/ws` as a store: the document, notifications of its changes, and a method to send commands.

import { AssistantTransportDeltaTracker } from "assistant-stream";
import type { Command, HarnessState, Json, ServerFrame } from "./types.js";

/** The part of a WebSocket that this module uses, so that other implementations fit. */
export type SocketLike = {
  send(data: string): void;
  close(): void;
  addEventListener(type: "open" | "close" | "error" | "message", listener: (event: any) => void): void;
};

export type ConnectOptions = {
  /** The WebSocket class, for platforms without a built-in one. */
  readonly WebSocket?: new (url: string, protocols: string[]) => SocketLike;
  /** Sent as a subprotocol. A page that signed in needs none: the browser sends its cookie. */
  readonly token?: string;
  /** Receives rejections of the server and errors of the connection. */
  readonly onError?: (message: string) => void;
  /** The delay before the next attempt, given the number of failures in a row; null gives up. */
  readonly retryMs?: (failures: number) => number | null;
};

export type HarnessConnection = {
  /** The last received document, also while the connection is down; null before the first frame. */
  getState(): HarnessState | null;
  getStatus(): "connecting" | "open" | "closed";
  /** Calls back whenever the document or the status changes. */
  subscribe(listener: () => void): () => void;
  /** Returns false and sends nothing while the connection is down: a late command could do harm. */
  send(...commands: Command[]): boolean;
  close(): void;
};

/** Connects to the document of a session and stays connected. `url` is that of `/ws`, with its query. */
export function connectHarness(url: string | URL, options: ConnectOptions = {}): HarnessConnection {
  const Socket = options.WebSocket ?? globalThis.WebSocket;
  const retryMs = options.retryMs ?? ((failures) => Math.min(250 * 2 ** failures, 10_000));
  const protocols = ["harn.state.v1", ...(options.token === undefined ? [] : [`harn.bearer.${options.token}`])];
  const listeners = new Set<() => void>();
  let state: HarnessState | null = null;
  let status: ReturnType<HarnessConnection["getStatus"]> = "connecting";
  let socket: SocketLike;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;
  let ended = false;

  const changed = (): void => listeners.forEach((listener) => listener());

  function open(): void {
    const mine = new Socket(address(url, state), protocols);
    socket = mine;
    // The document of an earlier socket stays visible, but a socket's changes apply only to its own document.
    let tracker: AssistantTransportDeltaTracker | null = null;
    mine.addEventListener("open", () => {
      if (ended || socket !== mine) return;
      status = "open";
      changed();
    });
    mine.addEventListener("message", ({ data }: { data: unknown }) => {
      if (ended || socket !== mine) return;
      try {
        const frame = JSON.parse(String(data)) as ServerFrame;
        if (frame.type === "error") return options.onError?.(frame.message);
        tracker = folded(tracker, frame);
        state = tracker.state as unknown as HarnessState;
        failures = 0;
      } catch (error) {
        // A change that does not fit cannot be repaired here. A new connection begins with the whole document.
        options.onError?.(`a frame could not be used: ${error instanceof Error ? error.message : String(error)}`);
        mine.close();
        return;
      }
      changed();
    });
    mine.addEventListener("error", ({ message }: { message?: unknown }) => {
      if (!ended && socket === mine) options.onError?.(typeof message === "string" ? message : "the connection failed");
    });
    mine.addEventListener("close", () => {
      if (ended || socket !== mine) return;
      const wait = retryMs(failures++);
      status = wait === null ? "closed" : "connecting";
      if (wait !== null) timer = setTimeout(open, wait);
      changed();
    });
  }

  open();
  return {
    getState: () => state,
    getStatus: () => status,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    send(...commands) {
      if (status !== "open") return false;
      socket.send(JSON.stringify({ type: "commands", commands }));
      return true;
    },
    close() {
      ended = true;
      status = "closed";
      clearTimeout(timer);
      socket.close();
      changed();
    },
  };
}

function folded(
  tracker: AssistantTransportDeltaTracker | null,
  frame: Exclude<ServerFrame, { readonly type: "error" }>,
): AssistantTransportDeltaTracker {
  switch (frame.type) {
    case "state":
      return new AssistantTransportDeltaTracker(frame.state as unknown as Json);
    case "delta":
      if (tracker === null) throw new Error("changes came before the document");
      tracker.append(frame.operations);
      return tracker;
    default:
      throw new Error(`frames are of type state, delta or error, not ${JSON.stringify((frame as { type?: unknown }).type)}`);
  }
}

/** The address to connect to. Once a document arrived, it names that session, so that a reconnect creates no other one. */
function address(url: string | URL, state: HarnessState | null): string {
  if (state === null) return String(url);
  const again = new URL(url);
  again.searchParams.set("session", state.session.id);
  again.searchParams.delete("cwd");
  return again.href;
}
