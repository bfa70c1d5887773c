// Owns the virtual list: only the rows in sight are in the page, their heights are measured, and it follows its end.
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";

export type ListHandle = { show(index: number): void; end(): void };

type Props = {
  count: number;
  estimate: number;
  label: string;
  row: (index: number) => ComponentChildren;
  /** The start position; a list that starts at its end follows it as long as the user stays there. */
  from: "start" | "end";
  handle?: { current: ListHandle | null };
  /** Called when the user scrolls to the end or away from it. */
  onEnd?: (atEnd: boolean) => void;
  class?: string;
};

/** A position this close to the end counts as the end. */
const NEAR = 8;

const sizeOf = ({ clientWidth, clientHeight }: Element): string => `${clientWidth} ${clientHeight}`;

export function List({ count, estimate, label, row, from, handle, onEnd, class: name }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const [, again] = useReducer((n: number) => n + 1, 0);
  const follow = useRef({ on: from === "end", top: 0, height: 0, view: "" });
  const setFollow = (on: boolean) => {
    if (follow.current.on === on) return;
    follow.current.on = on;
    onEnd?.(on);
  };
  // Records each scroll from code, so that its event does not count as a scroll of the user.
  const note = () => {
    const element = scroller.current;
    if (element) Object.assign(follow.current, { top: element.scrollTop, height: element.scrollHeight, view: sizeOf(element) });
  };
  const options = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => estimate,
    initialOffset: () => (from === "end" ? count * estimate : 0),
    initialRect: { width: 800, height: window.innerHeight },
    overscan: 4,
    observeElementRect,
    observeElementOffset,
    scrollToFn: (offset: number, how: Parameters<typeof elementScroll>[1], by: Virtualizer<HTMLDivElement, HTMLDivElement>) => {
      elementScroll(offset, how, by);
      note();
    },
    onChange: () => again(0),
  };
  const [virtual] = useState(() => new Virtualizer<HTMLDivElement, HTMLDivElement>(options));
  virtual.setOptions(options);

  useLayoutEffect(() => virtual._didMount(), [virtual]);
  useLayoutEffect(() => {
    virtual._willUpdate();
    const element = scroller.current;
    if (!element || !follow.current.on) return;
    element.scrollTop = element.scrollHeight;
    note();
  });
  useLayoutEffect(() => {
    if (!handle) return;
    handle.current = {
      show(index) {
        setFollow(false);
        virtual.scrollToIndex(index, { align: "start" });
      },
      end() {
        setFollow(true);
        again(0);
      },
    };
    return () => {
      handle.current = null;
    };
  });

  const onScroll = () => {
    const element = scroller.current;
    if (!element || from !== "end") return;
    const { scrollTop, scrollHeight, clientHeight } = element;
    const last = follow.current;
    // The browser scrolls a list that changes its size: the end moves although the user did nothing.
    const resized = sizeOf(element) !== last.view;
    const shorter = scrollHeight < last.height;
    // A scroll up while nothing got shorter, or down to the end, is from the user.
    if (resized) again(0);
    else if (scrollTop < last.top && !shorter) setFollow(false);
    else if ((scrollTop > last.top || shorter) && scrollHeight - scrollTop - clientHeight <= NEAR) setFollow(true);
    note();
  };
  // A wheel, key or touch event precedes the first scroll event, which following the end would undo.
  const leave = () => {
    if (scroller.current && scroller.current.scrollTop > 0) setFollow(false);
  };
  const onWheel = (event: WheelEvent) => {
    if (event.deltaY < 0) leave();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget) return;
    if (["PageUp", "ArrowUp", "Home"].includes(event.key)) leave();
    if (event.key === "End" && from === "end") {
      // The end may move while the list scrolls to it.
      event.preventDefault();
      setFollow(true);
      again(0);
    }
  };
  const finger = useRef(0);
  const onTouchStart = (event: TouchEvent) => {
    finger.current = event.touches[0]?.clientY ?? 0;
  };
  const onTouchMove = (event: TouchEvent) => {
    if ((event.touches[0]?.clientY ?? 0) > finger.current + 4) leave();
  };

  const items = virtual.getVirtualItems();
  return (
    <div
      class={`list ${name ?? ""}`}
      ref={scroller}
      onScroll={onScroll}
      onWheel={onWheel}
      onKeyDown={onKeyDown}
      onTouchStart={onTouchStart}
      onTouchMove={onTouchMove}
      tabIndex={0}
      role="log"
      aria-label={label}
      aria-live="off"
    >
      <div class="list-all" style={{ height: `${virtual.getTotalSize()}px` }}>
        <div class="list-seen" style={{ transform: `translateY(${items[0]?.start ?? 0}px)` }}>
          {items.map((item) => (
            <div key={item.index} data-index={item.index} ref={virtual.measureElement} class="list-row">
              {row(item.index)}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}
