// Compares the pinned lines of fixtures/clients with the lines that the TypeScript SDK sends. The answers to
// them are pinned by tests/tests/it/clients.rs.

import assert from "node:assert/strict";
import { mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { withHost } from "./host.mjs";

const FILE = new URL("../../fixtures/clients/typescript-sdk.jsonl", import.meta.url);
const TO_AGENT = '{"to":"agent","message":';
const text = (it) => [{ type: "text", text: it }];

it("TypeScript SDK: what it sends to steer is what is pinned", async () => {
  const root = await realpath(await mkdtemp(path.join(tmpdir(), "harn-peer-ts-")));
  const names = new Map([[root, "/workspace"]]);
  let sent;
  await withHost({ state: path.join(root, "state"), wish: "acp", play: "steer" }, async (host) => {
    sent = host.sent;
    await host.initialize();
    const sessionId = await host.newSession(root);
    names.set(sessionId, "session-1");
    const call = (method, params) => host.extension(method, { sessionId, ...params });
    const inject = async (mode, content) => {
      const { messageId } = await call("session/inject", { mode, content });
      names.set(messageId, `message-${[...names.values()].filter((it) => it.startsWith("message-")).length + 1}`);
      return messageId;
    };
    const meta = { steering: { idleBehavior: "promptRequired" } };
    const steer = () => call("_session/steering", { prompt: text("And d.txt."), _meta: meta });

    const asked = host.nextOf("session/request_permission", "the question");
    let release;
    host.choice = new Promise((done) => (release = done));
    const turn = host.prompt(sessionId, "work");
    await asked;
    names.set(host.wire.findLast((m) => m.method === "session/request_permission").id, "agent-1");
    const first = await inject("steer", "Mind b.txt.");
    const last = await inject("queue", text("Then c.txt."));
    await call("session/replace_inject", { messageId: first, content: text("Mind b.txt and a.txt.") });
    await call("session/revoke_inject", { messageId: last });
    await call("session/remind", { mode: "finish_step", body: "Run the tests.", tags: ["tests"] });
    await host.agent.notify("session/remind", { sessionId, mode: "finish_step", body: "Be brief." });
    await steer();
    await call("session/pending_injections");
    release("allow_once");
    await turn;
    await assert.rejects(call("session/revoke_inject", { messageId: first }));
    await steer();

    const ready = host.next("the agent that stays", (u) => u.content?.text === "Ready.");
    const stays = host.prompt(sessionId, "stay");
    await ready;
    await host.agent.notify("agent/resume", { sessionId });
    await call("session/cancel");
    await stays;
  });
  await rm(root, { recursive: true, force: true });

  const lines = sent.map((line) => [...names].reduce((text, [real, name]) => text.replaceAll(real, name), line));
  const entries = lines.map((line) => `${TO_AGENT}${line}}`);
  const pinned = (await readFile(FILE, "utf8")).split("\n").filter((line) => line.startsWith(TO_AGENT));
  if (process.env.UPDATE_EXPECT === "1" && !isDeepStrictEqual(entries, pinned)) {
    // The test that replays the lines writes the answers.
    await writeFile(FILE, `${entries.join("\n")}\n`);
    return;
  }
  assert.deepEqual(entries, pinned);
});
