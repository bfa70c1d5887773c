// A document for react-dom to render into. Import it before React and modules that use React.

import { JSDOM } from "jsdom";
import { until } from "./until.js";

const { window } = new JSDOM("<!doctype html><body></body>", { url: "http://127.0.0.1/", pretendToBeVisual: true });

// jsdom does not lay anything out, so there are no sizes to observe.
class NoSizes {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}

const globals = {
  window,
  document: window.document,
  navigator: window.navigator,
  Node: window.Node,
  Element: window.Element,
  HTMLElement: window.HTMLElement,
  MutationObserver: window.MutationObserver,
  getComputedStyle: window.getComputedStyle,
  requestAnimationFrame: window.requestAnimationFrame,
  cancelAnimationFrame: window.cancelAnimationFrame,
  ResizeObserver: NoSizes,
};
for (const [name, value] of Object.entries(globals)) {
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
}
Object.assign(window, { ResizeObserver: NoSizes });

/** Resolves when `look` finds something in the page; calls it again at every change of the page. */
export function shown<T>(what: string, look: () => T | undefined | null | false): Promise<T> {
  return until(what, look, (again) => {
    const observer = new MutationObserver(again);
    observer.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
    return () => observer.disconnect();
  });
}
