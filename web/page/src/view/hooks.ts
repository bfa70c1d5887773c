// Owns the few hooks the views share: following topics, and the time.
import { useEffect, useLayoutEffect, useReducer, useState } from "preact/hooks";
import type { Topics } from "../wire/doc.js";

/** Renders again when one of the topics changed; at most once a frame. */
export function useTopics(source: Topics, ...topics: string[]): void {
  const [, again] = useReducer((n: number) => n + 1, 0);
  const seen = topics.map((topic) => source.version(topic)).join();
  useLayoutEffect(() => {
    // A topic may have changed since the rendering.
    if (topics.map((topic) => source.version(topic)).join() !== seen) again(0);
    return source.on(topics, () => again(0));
  }, [source, topics.join()]);
}

/** The time, updated at this interval while `active`. */
export function useNow(every: number, active = true): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!active) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [every, active]);
  return active ? now : Date.now();
}
