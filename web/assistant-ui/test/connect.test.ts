// The connection, against a small server of the same frames.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { WebSocket, WebSocketServer, type WebSocket as Peer } from "ws";
import { connectHarness, type ConnectOptions, type HarnessConnection } from "../src/index.js";
import { liveServer, noServer } from "./live.js";
import { checkState } from "./shape.js";
import { assistant, state, user } from "./state.js";
import { until } from "./until.js";

type Visit = { readonly peer: Peer; readonly url: URL; readonly protocols: string; readonly heard: unknown[] };

/** A server, the connections it had, and a client of it. */
async function start(options: ConnectOptions = {}, query = "") {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1", handleProtocols: () => "harn.state.v1" });
  await new Promise((ready) => server.once("listening", ready));
  const { port } = server.address() as { port: number };
  const visits: Visit[] = [];
  const looks = new Set<() => void>();
  const look = (): void => looks.forEach((again) => again());
  server.on("connection", (peer, request) => {
    const heard: unknown[] = [];
    peer.on("message", (data) => {
      heard.push(JSON.parse(String(data)));
      look();
    });
    visits.push({ peer, url: new URL(request.url ?? "", "ws://server"), protocols: request.headers["sec-websocket-protocol"] ?? "", heard });
    look();
  });
  const errors: string[] = [];
  const connection = connectHarness(`ws://127.0.0.1:${port}/ws${query}`, {
    WebSocket,
    retryMs: () => 0,
    onError: (message) => {
      errors.push(message);
      look();
    },
    ...options,
  });
  connection.subscribe(look);
  after(() => {
    connection.close();
    server.close();
  });
  const see = <T>(what: string, look: () => T | undefined | null | false): Promise<T> =>
    until(what, look, (again) => {
      looks.add(again);
      return () => looks.delete(again);
    });
  const visit = (index: number): Promise<Visit> => see(`connection ${index}`, () => visits[index]);
  return { connection, errors, visits, see, visit };
}

const say = (peer: Peer, frame: unknown): void => peer.send(JSON.stringify(frame));
const textOf = (connection: HarnessConnection, index: number): string | undefined => connection.getState()?.messages[index]?.content;

describe("connectHarness", () => {
  it("has the document, its changes, and sends commands", async () => {
    const { connection, see, visit } = await start({ token: "secret" });
    assert.equal(connection.getState(), null);
    assert.equal(connection.getStatus(), "connecting");
    assert.equal(connection.send({ type: "cancel" }), false, "nothing can be sent before the connection is there");

    const { peer, protocols, heard } = await visit(0);
    assert.equal(protocols, "harn.state.v1,harn.bearer.secret");
    say(peer, { type: "state", state: state({ messages: [user("m1", "Hi"), assistant("m2", "He", { status: "streaming" })] }) });
    await see("the document", () => textOf(connection, 1) === "He");
    const before = connection.getState();
    say(peer, { type: "delta", operations: [{ type: "append-text", path: ["messages", "1", "content"], value: "llo" }] });
    await see("the change", () => textOf(connection, 1) === "Hello");
    assert.equal(connection.getState()?.messages[0], before?.messages[0], "what did not change is the same object");
    assert.equal(before?.messages[1]?.content, "He", "a document that was given out stays as it was");

    assert.equal(connection.send({ type: "submit", prompt: "a" }, { type: "cancel" }), true);
    await see("the commands", () => heard.length === 1);
    assert.deepEqual(heard, [{ type: "commands", commands: [{ type: "submit", prompt: "a" }, { type: "cancel" }] }]);
  });

  it("tells what was refused, and the document stays", async () => {
    const { connection, errors, see, visit } = await start();
    const { peer } = await visit(0);
    say(peer, { type: "state", state: state({ messages: [user("m1", "Hi")] }) });
    say(peer, { type: "error", message: "the session is controlled by tab" });
    await see("the error", () => errors.length === 1);
    assert.deepEqual(errors, ["the session is controlled by tab"]);
    assert.equal(textOf(connection, 0), "Hi");
  });

  it("comes back to the same session, with the old document until the new one is there", async () => {
    const { connection, see, visit } = await start({}, "?cwd=/workspace&client=tab");
    const first = await visit(0);
    assert.equal(first.url.search, "?cwd=/workspace&client=tab");
    say(first.peer, { type: "state", state: state({ messages: [user("m1", "old")] }) });
    await see("the document", () => textOf(connection, 0) === "old");
    first.peer.terminate();

    const second = await visit(1);
    assert.equal(second.url.search, "?client=tab&session=session-1");
    assert.equal(textOf(connection, 0), "old");
    say(second.peer, { type: "state", state: state({ messages: [user("m1", "new")] }) });
    await see("the new document", () => textOf(connection, 0) === "new");
    assert.equal(connection.getStatus(), "open");
  });

  const useless: [string, unknown[], RegExp][] = [
    ["changes before the document", [{ type: "delta", operations: [] }], /changes came before the document/],
    [
      "a change that does not fit",
      [{ type: "state", state: state() }, { type: "delta", operations: [{ type: "set", path: ["messages", "4"], value: 1 }] }],
      /out of bounds/,
    ],
    ["a frame of another type", [{ type: "hello" }], /frames are of type state, delta or error, not "hello"/],
  ];
  for (const [name, frames, message] of useless) {
    it(`connects again after ${name}`, async () => {
      const { errors, visit } = await start();
      const { peer } = await visit(0);
      for (const frame of frames) say(peer, frame);
      await visit(1);
      assert.match(errors[0] ?? "", message);
    });
  }

  it("gives up when it is told to", async () => {
    const { connection, see, visit } = await start({ retryMs: (failures) => (failures < 1 ? 0 : null) });
    (await visit(0)).peer.terminate();
    (await visit(1)).peer.terminate();
    await see("the end", () => connection.getStatus() === "closed");
  });

  it("ends when it is closed", async () => {
    const { connection, visit } = await start();
    const { peer } = await visit(0);
    const gone = new Promise((resolve) => peer.once("close", resolve));
    connection.close();
    await gone;
    assert.equal(connection.getStatus(), "closed");
    assert.equal(connection.send({ type: "cancel" }), false);
  });
});

describe("connectHarness to harn-serve", { skip: noServer }, () => {
  const server = liveServer();

  it("has a document of the right shape at every frame of a turn", async () => {
    const { url: live, token } = server();
    const url = new URL("/ws?session=new", live);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const errors: string[] = [];
    const connection = connectHarness(url, {
      WebSocket,
      retryMs: () => null,
      onError: (message) => errors.push(message),
      ...(token !== undefined && { token }),
    });
    after(() => connection.close());
    const answered = new Set<string>();
    const see = <T>(what: string, look: () => T | undefined | null | false): Promise<T> =>
      until(what, look, (again) => connection.subscribe(again));

    await see("the document", () => connection.getStatus() === "open" && connection.getState());
    connection.send({ type: "submit", prompt: "Hello" });
    const last = await see("the end of the turn", () => {
      assert.notEqual(connection.getStatus(), "closed", errors.join("; "));
      const document = connection.getState();
      checkState(document);
      for (const { id, toolCallId } of document.approvals) {
        if (!answered.has(id)) connection.send({ type: "approve", toolCallId });
        answered.add(id);
      }
      return document.status !== "running" && document.messages.some(({ role }) => role === "assistant") && document;
    });
    assert.equal(last.messages[0]?.content, "Hello");
    assert.deepEqual(errors, []);
  });
});
