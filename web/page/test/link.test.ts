// The connection: backoff, waking up, misfits, and that no prompt is lost.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Link, type LinkState, type SocketLike } from "../src/wire/link.js";
import { Session, type SessionSetup } from "../src/wire/session.js";

class FakeSocket implements SocketLike {
  static all: FakeSocket[] = [];
  onopen: (() => void) | null = null;
  onclose: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  readyState: 0 | 1 | 2 | 3 = 0;
  sent: string[] = [];
  constructor(readonly url: string) {
    FakeSocket.all.push(this);
  }
  send(text: string) {
    this.sent.push(text);
  }
  close() {
    this.readyState = 3;
    this.onclose?.();
  }
  open() {
    this.readyState = 1;
    this.onopen?.();
  }
  say(frame: unknown) {
    this.onmessage?.({ data: JSON.stringify(frame) });
  }
}
const last = () => FakeSocket.all.at(-1)!;
const connect = (url: string) => new FakeSocket(url);
const links: Link[] = [];
function begin(link: Link): Link {
  links.push(link);
  link.start();
  return link;
}

beforeEach(() => {
  vi.useFakeTimers();
  FakeSocket.all = [];
});
afterEach(() => {
  // One that is left waiting would wake up in the next test.
  for (const link of links.splice(0)) link.stop();
  vi.useRealTimers();
});

describe("Link", () => {
  const made = () => {
    const states: LinkState[] = [];
    const link = new Link({ url: () => "ws://test/ws", connect, onFrame: () => {}, onState: (state) => states.push(state) });
    begin(link);
    return { link, states };
  };

  it("waits half a second, then twice as long each time, ten seconds at most", () => {
    const { link } = made();
    const waits: number[] = [];
    for (let round = 0; round < 7; round++) {
      last().close();
      const state = link.state;
      if (state.kind !== "away") throw new Error(state.kind);
      waits.push(state.retryAt - Date.now());
      const before = FakeSocket.all.length;
      vi.advanceTimersByTime(waits[round]! - 1);
      expect(FakeSocket.all.length).toBe(before);
      vi.advanceTimersByTime(1);
      expect(FakeSocket.all.length).toBe(before + 1);
    }
    expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
  });

  it("starts small again after a connection that lasted", () => {
    const { link } = made();
    last().close();
    vi.advanceTimersByTime(500);
    last().open();
    vi.advanceTimersByTime(3_000);
    last().close();
    expect(link.state.kind === "away" && link.state.retryAt - Date.now()).toBe(500);
  });

  it("tries at once when the network or the reader comes back", () => {
    for (const [target, type] of [[window, "online"], [document, "visibilitychange"]] as const) {
      const { link } = made();
      last().close();
      const before = FakeSocket.all.length;
      target.dispatchEvent(new Event(type));
      expect(FakeSocket.all.length).toBe(before + 1);
      expect(link.state.kind).toBe("connecting");
      link.stop();
    }
  });

  it("gives up a handshake that does not end", () => {
    const { link } = made();
    vi.advanceTimersByTime(10_000);
    expect(link.state.kind).toBe("away");
  });

  it("stops for good when it is refused", async () => {
    const link = new Link({ url: () => "", connect, onFrame: () => {}, onState: () => {}, onHandshakeFailed: async () => ({ kind: "refused", why: "no such session" }) });
    begin(link);
    last().close();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(link.state).toEqual({ kind: "refused", why: "no such session" });
    expect(FakeSocket.all.length).toBe(1);
  });

  it("ends in words when the server is there, and refuses three times in a row without any", async () => {
    const reached = [true, true, false, true, true, true];
    const link = new Link({ url: () => "", connect, onFrame: () => {}, onState: () => {}, onHandshakeFailed: async () => ({ kind: "retry", reached: reached.shift()! }) });
    begin(link);
    for (let round = 0; round < 6; round++) {
      expect(link.state.kind).toBe("connecting");
      last().close();
      await vi.advanceTimersByTimeAsync(0);
      expect(link.state.kind).toBe(round < 5 ? "away" : "refused");
      await vi.advanceTimersByTimeAsync(10_000);
    }
    expect(FakeSocket.all.length).toBe(6);
    link.retry();
    expect(FakeSocket.all.length).toBe(7);
    last().open();
    expect(link.state.kind).toBe("open");
  });

  it("is silent once stopped", () => {
    const { link } = made();
    last().open();
    link.stop();
    vi.advanceTimersByTime(60_000);
    expect(FakeSocket.all.length).toBe(1);
    expect(link.send("x")).toBe(false);
  });
});

describe("Session", () => {
  const message = (id: string, content: string, role = "user") => ({ id, role, content, status: "complete", at: 0, thought: "", notes: [] });
  const state = (messages: unknown[] = []) => ({ type: "state", state: { status: "idle", messages, session: { id: "s1" }, approvals: [], questions: [], controller: null } });
  const made = (setup: Partial<SessionSetup> = {}) => {
    const lost: string[] = [];
    const ids: string[] = [];
    const session = new Session({ id: "s1", client: "web-00000001", connect, schedule: (run) => run(), onLost: (texts) => lost.push(...texts), onId: (id) => ids.push(id), ...setup });
    begin(session.link);
    return { session, lost, ids };
  };

  it("attaches under its name, and watches without one", () => {
    made();
    expect(last().url).toMatch(/\/ws\?session=s1&client=web-00000001$/);
    made({ client: null });
    expect(last().url).toMatch(/\/ws\?session=s1&role=observer$/);
    made({ id: null, cwd: "/a b" });
    expect(last().url).toMatch(/\/ws\?session=new&cwd=%2Fa\+b&client=web-00000001$/);
  });

  it("goes on with the session that was made for it", () => {
    const { session, ids } = made({ id: null });
    last().open();
    last().say(state());
    expect(ids).toEqual(["s1"]);
    last().close();
    vi.advanceTimersByTime(500);
    expect(last().url).toContain("session=s1");
    expect(session.id).toBe("s1");
  });

  it("refuses with words what cannot be sent", () => {
    const { session } = made();
    expect(session.send({ type: "submit", prompt: "hi" })).toBe(false);
    expect(session.notices[0]!.text).toContain("no connection");
    last().open();
    expect(session.send({ type: "submit", prompt: "hi" })).toBe(false);
    last().say(state());
    expect(session.send({ type: "submit", prompt: "hi" })).toBe(true);
    expect(last().sent).toEqual(['{"type":"commands","commands":[{"type":"submit","prompt":"hi"}]}']);
  });

  it("asks for a fresh state when a delta does not fit, and shows nothing of that delta", () => {
    vi.spyOn(console, "warn").mockImplementation(() => {});
    const { session } = made();
    last().open();
    last().say(state([message("m1", "a")]));
    last().say({ type: "delta", operations: [{ type: "set", path: ["status"], value: "running" }, { type: "set", path: ["messages", "5"], value: {} }] });
    expect(session.state!.status).toBe("idle");
    expect(session.link.state.kind).toBe("away");
    vi.advanceTimersByTime(500);
    expect(FakeSocket.all.length).toBe(2);
    last().open();
    last().say(state([message("m1", "a"), message("m2", "b")]));
    expect(session.state!.messages.length).toBe(2);
  });

  it("gives a prompt back that the fresh state does not know", () => {
    const { session, lost } = made();
    last().open();
    last().say(state([message("m1", "do it")]));
    session.send({ type: "submit", prompt: "do it" });
    session.send({ type: "steer", message: "and that" });
    last().close();
    vi.advanceTimersByTime(500);
    last().open();
    last().say(state([message("m1", "do it"), message("m2", "and that")]));
    expect(lost).toEqual(["do it"]);
    expect(session.notices.at(-1)!.text).toContain("back in the box");
  });

  it("forgets a prompt that it has seen in the document", () => {
    const { session, lost } = made();
    last().open();
    last().say(state());
    session.send({ type: "submit", prompt: "do it" });
    last().say({ type: "delta", operations: [{ type: "set", path: ["messages", "0"], value: message("m1", "do it") }] });
    last().close();
    vi.advanceTimersByTime(500);
    last().open();
    last().say(state());
    expect(lost).toEqual([]);
  });

  it("gives a prompt back that the server refused, and says why", () => {
    const { session, lost } = made();
    last().open();
    last().say(state());
    session.send({ type: "submit", prompt: "do it" });
    last().say({ type: "error", message: "ada controls this session" });
    expect(lost).toEqual(["do it"]);
    expect(session.notices.at(-1)!.text).toBe("ada controls this session");
  });

  it("knows who holds it", () => {
    const { session } = made();
    last().open();
    last().say(state());
    expect(session.heldBy).toBeNull();
    last().say({ type: "delta", operations: [{ type: "set", path: ["controller"], value: "ada" }] });
    expect(session.heldBy).toBe("ada");
    last().say({ type: "delta", operations: [{ type: "set", path: ["controller"], value: "web-00000001" }] });
    expect(session.heldBy).toBeNull();
  });
});
