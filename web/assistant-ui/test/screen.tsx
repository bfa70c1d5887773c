// A page with the example's thread, and functions that read and click like a person.

import { shown } from "./dom.js";
import assert from "node:assert/strict";
import { AssistantRuntimeProvider, type AssistantRuntime } from "@assistant-ui/react";
import type { ReactNode } from "react";
import { createRoot } from "react-dom/client";

export type Screen = {
  /** The messages from top to bottom, `role status: texts of its parts`. */
  messages(): string[];
  /** Resolves when the messages are these. */
  shows(...messages: string[]): Promise<void>;
  find<E extends Element = HTMLElement>(selector: string): E | null;
  /** Presses the button with this label, as soon as it can be pressed. */
  press(label: string): Promise<void>;
  runtime(): AssistantRuntime;
  leave(): void;
};

/** Shows `children` in a runtime that `useRuntime` makes. */
export function enter(useRuntime: () => AssistantRuntime, children: ReactNode): Screen {
  const element = document.createElement("main");
  document.body.append(element);
  const root = createRoot(element);
  let runtime: AssistantRuntime | undefined;
  function Page(): ReactNode {
    runtime = useRuntime();
    return <AssistantRuntimeProvider runtime={runtime}>{children}</AssistantRuntimeProvider>;
  }
  root.render(<Page />);

  // Leaves out empty texts: assistant-ui adds one to the end of a running message, for the next text.
  const messages = (): string[] =>
    [...element.querySelectorAll<HTMLElement>(".user, .assistant")].map((message) => {
      const texts = [...message.querySelectorAll("p, h4, pre, ins, code, button")].map((part) => part.textContent ?? "");
      const status = message.dataset["status"];
      return `${message.className}${status === undefined ? "" : ` ${status}`}: ${texts.filter((text) => text !== "").join(" | ")}`;
    });
  return {
    messages,
    async shows(...expected) {
      const wanted = JSON.stringify(expected);
      await shown("the messages", () => JSON.stringify(messages()) === wanted).catch(() => assert.deepEqual(messages(), expected));
    },
    find: (selector) => element.querySelector(selector),
    async press(label) {
      const button = await shown(`the button ${label}`, () =>
        [...element.querySelectorAll("button")].find((button) => button.textContent === label && !button.disabled),
      );
      button.click();
    },
    runtime: () => {
      assert.ok(runtime, "the page was not drawn yet");
      return runtime;
    },
    leave: () => {
      root.unmount();
      element.remove();
    },
  };
}
