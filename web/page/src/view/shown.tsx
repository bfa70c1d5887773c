// Shows text of agents, tools and other users: always as text, with marks for characters that would act or hide.
import { useLayoutEffect, useRef } from "preact/hooks";
import { memo } from "./memo.js";
import { visible, type Reading } from "../text/visible.js";

export const Shown = memo(function Shown({ text, as }: { text: string; as: Reading }) {
  const pieces = visible(text, as);
  if (pieces.length === 1 && typeof pieces[0] === "string") return <>{pieces[0]}</>;
  return (
    <>
      {pieces.map((piece) =>
        typeof piece === "string" ? piece : <span class="mark" title="An invisible character">{piece.mark}</span>,
      )}
    </>
  );
});

/** A position this close to the end counts as the end. */
const NEAR = 8;

/** Complete text in wrapped lines, in a fixed-width font. With `follows` it stays at its end until the user scrolls up. */
export function Mono({ text, class: name, follows = false }: { text: string; class?: string; follows?: boolean }) {
  const box = useRef<HTMLPreElement>(null);
  const atEnd = useRef(true);
  useLayoutEffect(() => {
    if (follows && atEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text, follows]);
  const onScroll = ({ currentTarget: { scrollHeight, scrollTop, clientHeight } }: { currentTarget: HTMLElement }) => {
    atEnd.current = scrollHeight - scrollTop - clientHeight <= NEAR;
  };
  return (
    <pre ref={box} class={name ? `mono ${name}` : "mono"} dir="ltr" onScroll={follows ? onScroll : undefined}>
      <Shown text={text} as="block" />
    </pre>
  );
}
