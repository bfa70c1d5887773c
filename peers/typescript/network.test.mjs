// The TypeScript SDK's WebSocket and HTTP clients against `harn-serve serve`: a whole session, two clients
// at once, and the way a browser authenticates.

import assert from "node:assert/strict";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { createHttpStream } from "@agentclientprotocol/sdk/experimental/http-client";
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";
import { WebSocket } from "ws";
import { story, textOf, withServer } from "./host.mjs";

const bearer = (token) => ({ Authorization: `Bearer ${token}` });
const ws = (url) => url.replace(/^http/, "ws");

const transports = {
  HTTP: (url, token) => createHttpStream(url, { headers: bearer(token) }),
  WebSocket: (url, token) => createWebSocketStream(ws(url), { WebSocket, headers: bearer(token) }),
  // A browser cannot send headers with a WebSocket.
  "WebSocket, by protocol": (url, token) =>
    createWebSocketStream(ws(url), { WebSocket, protocols: ["acp", `harn.bearer.${token}`] }),
};

for (const [name, stream] of Object.entries(transports)) {
  describe(`TypeScript SDK over ${name}`, () => {
    let root, states = 0;
    before(async () => (root = await realpath(await mkdtemp(path.join(tmpdir(), "harn-peer-ts-")))));
    after(() => rm(root, { recursive: true, force: true }));
    const inServer = (use) => withServer({ state: path.join(root, `state-${++states}`), profile: "acp" }, use);

    it("does a whole session, which another connection then loads", () =>
      inServer(async (connect) => {
        const host = connect(stream);
        const hello = await host.initialize();
        assert.equal(hello.agentInfo.name, "peer");
        const session = await host.newSession(root);
        assert.equal((await host.prompt(session, "hello")).stopReason, "end_turn");
        assert.equal(textOf(host.updates, "agent_message_chunk"), "There are three lines.");
        assert.equal((await host.prompt(session, "perm please")).stopReason, "end_turn");
        assert.equal(host.asked.length, 1);
        assert.match(textOf(host.updates, "agent_message_chunk"), /It is written\.$/);
        const working = host.next("the turn to work", (u) => u.content?.text === "working");
        const slow = host.prompt(session, "slow");
        await working;
        await host.cancel(session);
        assert.equal((await slow).stopReason, "cancelled");

        const later = connect(stream);
        await later.initialize();
        await later.load(session, root);
        assert.deepEqual(story(later.updates), story(host.updates));
      }));

    it("is told that there is no such session, and goes on", () =>
      inServer(async (connect) => {
        const host = connect(stream);
        await host.initialize();
        await assert.rejects(host.load("ses_there_is_no_such", root));
        const session = await host.newSession(root);
        assert.equal((await host.prompt(session, "hello")).stopReason, "end_turn");
        host.takeComplaints();
      }));

    it("does not get in without the token", () =>
      inServer(async (connect) => {
        const host = connect((url) => stream(url, "not-the-token-0123456789"));
        await assert.rejects(host.initialize());
        host.takeComplaints();
        host.recording.length = 0;
      }));
  });
}
