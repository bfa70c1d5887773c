// Why a handshake failed: the server's message if there is one, otherwise the page's.
import { afterEach, expect, it, vi } from "vitest";
import { verdictOn } from "../src/wire/verdict.js";

type Answers = Record<string, [number, string] | undefined>;
function served(answers: Answers) {
  vi.stubGlobal("fetch", async (url: string) => {
    const { pathname } = new URL(url);
    const [status, body] = answers[pathname] ?? [0, ""];
    if (status === 0) throw new TypeError("no connection");
    return new Response(body, { status });
  });
}
afterEach(() => vi.unstubAllGlobals());

const IN: [number, string] = [200, '{"principal":"owner"}'];
const UPGRADE: [number, string] = [426, '{"error":"ask for an upgrade"}'];
const url = new URL("ws?x=1", document.baseURI).href.replace(/^http/, "ws");
const attempt = (id: string | null, cwd: string | null = null) => verdictOn({ url, id, cwd });

it("is the server's own where the address is wrong", async () => {
  served({ "/login": IN, "/ws": [400, '{"error":"client must be a name"}'] });
  expect(await attempt("s1")).toEqual({ kind: "refused", why: "The server refuses: client must be a name" });
  served({ "/login": IN, "/ws": [421, "the guard's words\n"] });
  expect(await attempt("s1")).toEqual({ kind: "refused", why: "The server refuses: the guard's words" });
});

it("is the server's own where the session cannot be had", async () => {
  served({ "/login": IN, "/ws": UPGRADE, "/state/timeline": [409, '{"error":"another process has it open"}'] });
  expect(await attempt("s1")).toEqual({ kind: "refused", why: "The server refuses: another process has it open" });
});

it("is about the folder where a new session was to have one", async () => {
  served({ "/login": IN, "/ws": UPGRADE });
  expect(await attempt(null, "nowhere")).toMatchObject({ kind: "refused", why: expect.stringContaining("absolute path to an existing directory") });
  expect(await attempt(null)).toEqual({ kind: "retry", reached: true });
});

it("is that of nobody while the server is away, or not well", async () => {
  served({});
  expect(await attempt(null, "/a")).toEqual({ kind: "retry", reached: false });
  served({ "/login": IN });
  expect(await attempt("s1")).toEqual({ kind: "retry", reached: false });
  served({ "/login": IN, "/ws": [502, "bad gateway"] });
  expect(await attempt("s1")).toEqual({ kind: "retry", reached: true });
});

it("is to sign in where nobody is", async () => {
  served({ "/login": [401, "{}"] });
  expect(await attempt("s1")).toEqual({ kind: "signed out" });
});
