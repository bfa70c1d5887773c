// Owns showing text that others wrote: always as text, with marks where characters would act or hide.
import { memo } from "./memo.js";
import { visible, type Reading } from "../text/visible.js";

export const Shown = memo(function Shown({ text, as }: { text: string; as: Reading }) {
  const pieces = visible(text, as);
  if (pieces.length === 1 && typeof pieces[0] === "string") return <>{pieces[0]}</>;
  return (
    <>
      {pieces.map((piece) =>
        typeof piece === "string" ? piece : <span class="mark" title="A character that is not to be seen">{piece.mark}</span>,
      )}
    </>
  );
});

/** Text in lines, whole, wrapped, in a fixed width. */
export function Mono({ text, class: name }: { text: string; class?: string }) {
  return (
    <pre class={name ? `mono ${name}` : "mono"} dir="ltr">
      <Shown text={text} as="block" />
    </pre>
  );
}
