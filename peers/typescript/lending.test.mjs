// What a host lends an agent over the bridge, through the TypeScript SDK: a tool and a skill, each answered by a
// handler of the SDK; and a host that declares the bridge and never answers.

import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { textOf, withHost } from "./host.mjs";

const skill = { name: "release-notes", description: "Write release notes from what changed" };
const lends = {
  "host/tools/list": () => ({
    tools: [
      {
        name: "count_words",
        description: "Count the words of a text",
        schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      },
    ],
  }),
  builtin_call: ({ args: [{ text }] }) => ({ words: text.split(" ").length }),
  "skills/list": () => [{ id: "release-notes", ...skill, source: "host" }],
  "skills/fetch": () => ({ ...skill, body: "Write release notes for $1.\n", manifest: { user_invocable: true } }),
};

describe("TypeScript SDK, a host that lends something", () => {
  let root, cwd, home, states = 0;
  before(async () => {
    root = await mkdtemp(path.join(tmpdir(), "harn-peer-ts-"));
    // The host must not get the user's own skills.
    [cwd, home] = [path.join(root, "workspace"), path.join(root, "home")];
    await mkdir(cwd);
    await mkdir(home);
  });
  after(() => rm(root, { recursive: true, force: true }));

  const explore = (offer, use) => {
    const state = path.join(root, `state-${++states}`);
    const env = { HOME: home, ...offer.env };
    return withHost({ state, play: "explore", bridge: true, ...offer, env }, async (host) => {
      await host.initialize();
      const session = await host.newSession(cwd);
      await use(host, async (text) => {
        const from = host.updates.length;
        assert.equal((await host.prompt(session, text)).stopReason, "end_turn");
        return textOf(host.updates.slice(from), "agent_message_chunk");
      });
    });
  };
  const asked = (host, method) => host.bridged.filter((it) => it.method === method).map((it) => it.params);

  for (const wish of ["meta", "harn"]) {
    it(`${wish}: its tool is called, and its skill used`, () =>
      explore({ wish, lends }, async (host, say) => {
        assert.match(await say("/tools"), /`count_words` \(host, /);
        assert.match(await say('/tool count_words {"text": "to be or not to be"}'), /"words": 6/);
        assert.deepEqual(host.asked.map(({ toolCall }) => toolCall.title), ["count_words"]);
        const [{ name, args }, ...more] = asked(host, "builtin_call");
        assert.deepEqual([name, args, more], ["count_words", [{ text: "to be or not to be" }], []]);
        assert.match(await say("/skills"), /`release-notes` \(host/);
        assert.match(await say("/release-notes v2"), /Write release notes for v2\./);
        assert.ok(asked(host, "skills/fetch").length > 0);
        // The host reports no changed skills, so the agent requests the list once.
        assert.equal(asked(host, "skills/list").length, 1);

        const sent = host.wire.filter((m) => m.method === "session/update").map((m) => m.params.update);
        const of = (update) => (wish === "meta" ? update._meta?.harn?.sessionUpdate : update.sessionUpdate);
        assert.ok(sent.some((update) => of(update) === "skill_activated"), "that the skill is active was not told");
        // In `harn` the SDK drops what it does not know, and reports it.
        assert.equal(host.takeComplaints().length, sent.length - host.updates.length);
        assert.equal(sent.length === host.updates.length, wish === "meta");
      }));
  }

  it("one that never answers: each turn ends without it", () => {
    const withdrawn = [];
    const never = (method) => (_, signal) =>
      new Promise((_, reject) =>
        signal.addEventListener("abort", () => {
          withdrawn.push(method);
          reject(signal.reason);
        }),
      );
    const methods = ["host/tools/list", "host/capabilities", "skills/list"];
    const lends = Object.fromEntries(methods.map((method) => [method, never(method)]));
    const env = { HARN_HOST_CALL_TIMEOUT_SECS: "1" };
    return explore({ wish: "meta", lends, env }, async (host, say) => {
      const tools = await say("/tools");
      assert.match(tools, /`read_file` \(built in, /);
      assert.doesNotMatch(tools, /\(host, /);
      assert.match(await say("/skills"), /no skills/i);
      const told = host.updates.map((update) => update._meta?.harn?.message).filter(Boolean);
      assert.ok(told.some((message) => /host's tools are not available/.test(message)), JSON.stringify(told));
      for (const method of methods) assert.ok(withdrawn.includes(method), `${method} was not withdrawn`);
    });
  });
});
