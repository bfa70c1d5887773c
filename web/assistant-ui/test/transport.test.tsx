// assistant-ui's own transport, rendered and clicked: against a small server of the same wire, and against harn-serve if there is
// one.

import { shown } from "./dom.js";
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { useAssistantTransportSendCommand, type AssistantTransportProtocol } from "@assistant-ui/react";
import { useCallback, type ReactNode } from "react";
import { Thread, type Answer } from "../example/Thread.js";
import { useHarnessTransport } from "../example/useHarnessTransport.js";
import type { Command, HarnessState } from "../src/index.js";
import { assistantServer, TOKEN } from "./assistant-server.js";
import { liveServer, noServer, unknownPlay } from "./live.js";
import { enter, type Screen } from "./screen.js";
import { until } from "./until.js";

const PROTOCOLS: readonly AssistantTransportProtocol[] = ["data-stream", "assistant-transport"];

/** The values that only a component in the page can read. */
type Inside = { send?: (command: Command) => void };

/** The thread, with approvals answered by a command: this transport does not carry assistant-ui's own answer. */
function Page({ inside }: { inside: Inside }): ReactNode {
  const send = useAssistantTransportSendCommand();
  inside.send = send;
  const answer = useCallback<Answer>(({ toolCallId }, optionId) => send({ type: "approve", toolCallId, optionId }), []);
  return <Thread answer={answer} />;
}

type Open = {
  readonly screen: Screen;
  readonly inside: Readonly<Inside>;
  readonly errors: string[];
  session(): string | undefined;
  say(text: string): Promise<void>;
  idle(): Promise<void>;
  failed(): Promise<string>;
};

async function open(url: string, protocol: AssistantTransportProtocol, token: string | undefined): Promise<Open> {
  const errors: string[] = [];
  const looks = new Set<() => void>();
  const onError = (error: Error): void => {
    errors.push(error.message);
    looks.forEach((look) => look());
  };
  const inside: Inside = {};
  const screen = enter(() => useHarnessTransport({ url, protocol, onError, ...(token !== undefined && { token }) }), <Page inside={inside} />);
  after(() => screen.leave());
  await shown("the composer", () => screen.find("textarea"));
  return {
    screen,
    inside,
    errors,
    session: () => (screen.runtime().thread.getState().extras as { state: HarnessState | null }).state?.session.id,
    say: async (text) => screen.runtime().thread.append(text),
    idle: () =>
      until("the end of the response", () => !screen.runtime().thread.getState().isRunning || null, (again) =>
        screen.runtime().thread.subscribe(again),
      ).then(() => {}),
    failed: () =>
      until("an error", () => errors[0], (again) => {
        looks.add(again);
        return () => looks.delete(again);
      }),
  };
}

for (const protocol of PROTOCOLS) {
  describe(`AssistantTransport, ${protocol}`, () => {
    const start = async (token = TOKEN) => {
      const server = await assistantServer();
      after(() => server.close());
      return { server, ...(await open(server.url, protocol, token)) };
    };

    it("shows what is said and goes on in the same session", async () => {
      const { server, screen, errors, say, idle } = await start();
      await say("hello");
      await screen.shows("user: hello", "assistant complete: You said hello.");
      await idle();
      await say("and again");
      await screen.shows("user: hello", "assistant complete: You said hello.", "user: and again", "assistant complete: You said and again.");
      assert.deepEqual(server.heard.map(({ body }) => body["session"]), [undefined, "session-1"]);
      assert.deepEqual(errors, []);
    });

    it("ends the response to ask, and streams the rest after the answer", async () => {
      const { server, screen, say } = await start();
      await say("test");
      await screen.shows(
        "user: test",
        "assistant requires-action: You said test. | Run the tests | cargo test | Allow once | Allow in this session | Reject",
      );
      assert.equal(await server.heard[0]?.ended, "finished");
      await screen.press("Allow once");
      await screen.shows("user: test", "assistant complete: You said test. | Run the tests | passed (once)");
      assert.deepEqual(server.heard[1]?.body.commands, [{ type: "approve", toolCallId: "t1", optionId: "once" }]);
    });

    it("loads a session that is there by resuming", async () => {
      const { server, say, idle, screen } = await start();
      await say("hello");
      await screen.shows("user: hello", "assistant complete: You said hello.");
      await idle();
      const second = await open(`${server.url}?session=session-1`, protocol, TOKEN);
      second.screen.runtime().thread.resumeRun({ parentId: null });
      await second.screen.shows("user: hello", "assistant complete: You said hello.");
      assert.deepEqual(server.heard.at(-1)?.body.commands, []);
    });

    it("leaves when it is stopped", async () => {
      const { server, screen, say, idle } = await start();
      await say("wait");
      await screen.shows("user: wait", "assistant running: You said wait.");
      await screen.press("stop");
      assert.equal(await server.heard[0]?.ended, "left");
      await idle();
    });

    it("tells what broke in the middle, and shows what there was", async () => {
      const { screen, say, failed } = await start();
      await say("break");
      assert.equal(await failed(), "the connection to the agent was lost");
      await screen.shows("user: break", "assistant running: You said break.");
    });

    it("tells why it was turned away", async () => {
      const { say, failed } = await start("wrong");
      await say("hello");
      assert.equal(await failed(), "Status 401: The token is not one of ours.");
    });
  });
}

for (const protocol of PROTOCOLS) {
  describe(`harn-serve, ${protocol}`, { skip: noServer }, () => {
    const server = liveServer();
    const visit = (query = "", token = server().token): Promise<Open> => open(new URL(`/assistant${query}`, server().url).href, protocol, token);

    it("answers, asks where it must, and goes on in the same session", async () => {
      const { screen, errors, say, idle } = await visit();
      for (const turns of [1, 2]) {
        await say("Hello");
        await shown("the prompt and an answer", () => {
          const messages = screen.messages();
          return messages.filter((text) => text === "user: Hello").length === turns && messages.at(-1)?.startsWith("assistant ");
        });
        // Answers each question with the first option, until nothing is open.
        for (;;) {
          await idle();
          const button = screen.find<HTMLButtonElement>(".call button");
          if (button === null) break;
          button.click();
          await shown("the answer to be taken", () => !button.isConnected);
        }
        assert.deepEqual(errors, []);
        assert.match(screen.messages().at(-1) ?? "", /^assistant (complete|incomplete): ./);
      }
    });

    it("ends the response to ask, and streams the rest after the answer", { skip: unknownPlay }, async () => {
      const { screen, errors, say, idle } = await visit();
      await say("write a note");
      await shown("the question", () => screen.messages().at(-1)?.startsWith("assistant requires-action: May I write a note? "));
      await idle();
      await screen.press("Allow this once");
      await shown("the rest", () => screen.messages().at(-1)?.startsWith("assistant complete: That was it."));
      await idle();
      assert.equal(screen.find(".call button"), null);
      assert.deepEqual(errors, []);
    });

    it("stops what it began when it is stopped, and finds it stopped when it comes again", { skip: unknownPlay }, async () => {
      const { screen, session, say, idle } = await visit();
      await say("slow");
      await screen.shows("user: slow", "assistant running: working");
      await screen.press("stop");
      await idle();
      const again = await visit(`?session=${session()}`);
      again.screen.runtime().thread.resumeRun({ parentId: null });
      // The response ends with the run; without the stop, the run would not end.
      await again.screen.shows("user: slow", "assistant complete: working");
      await again.idle();
      await again.say("Hello");
      await shown("another answer", () => again.screen.messages().at(-1)?.endsWith("There are **three** lines."));
      assert.deepEqual(again.errors, []);
    });

    it("shows a run that failed, which is no error of the transport", { skip: unknownPlay }, async () => {
      const { screen, errors, say, idle } = await visit();
      await say("break");
      await screen.shows("user: break", "assistant incomplete: I begin, ");
      await idle();
      assert.deepEqual(errors, []);
    });

    it("tells why a command was refused, and shows what there is", { skip: unknownPlay }, async () => {
      const { screen, inside, session, failed } = await visit();
      inside.send?.({ type: "approve", toolCallId: "nothing" });
      assert.match(await failed(), /^no open question has this toolCallId/);
      await until("the document of a session", session, (again) => screen.runtime().thread.subscribe(again));
    });

    it("turns away who has no token", async (test) => {
      if (server().token === undefined) return test.skip("HARN_SERVE_TOKEN is not set");
      const { say, failed } = await visit("", "wrong");
      await say("Hello");
      assert.match(await failed(), /^Status 401: ./);
    });
  });
}
