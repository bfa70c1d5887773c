// Owns the view of a change to a file: added and removed lines, with a little context.
import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import { diffLines, type DiffLine, type LineDiff } from "../text/diff.js";
import { count } from "../text/say.js";
import { visibleText } from "../text/visible.js";
import type { FileDiff } from "../wire/types.js";
import { memo } from "./memo.js";
import { Shown } from "./shown.js";

/** The user must expand more lines than this: they slow the page down and rarely help at first. */
const FIRST_LINES = 400;

type Props = {
  diff: FileDiff;
  first?: number;
  /** The number of this change among several. */
  at?: number;
  /** Called with whether the whole change is visible. */
  onWhole?: (at: number, whole: boolean) => void;
};

export const DiffView = memo(function DiffView({ diff, first = FIRST_LINES, at = 0, onWhole }: Props) {
  const lines = useMemo(() => diffLines(diff.oldText, diff.newText), [diff.oldText, diff.newText]);
  const [all, setAll] = useState(false);
  const total = lines.hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0);
  const whole = all || total <= first;
  useLayoutEffect(() => {
    onWhole?.(at, whole);
    return () => onWhole?.(at, true);
  }, [at, whole, onWhole]);
  let left = whole ? Infinity : first;
  return (
    <figure class="diff" aria-label={`Change of ${visibleText(diff.path)}`}>
      <figcaption>
        <span class="path">
          <Shown text={diff.path} as="line" />
        </span>
        <Sums diff={lines} isNew={diff.oldText === null} />
      </figcaption>
      <div class="diff-lines" tabIndex={0} role="group" aria-label="Lines">
        {lines.hunks.map((hunk) => {
          const shown = hunk.lines.slice(0, left);
          left -= shown.length;
          return (
            shown.length > 0 && (
              <>
                {hunk.skipped > 0 && <Skipped lines={hunk.skipped} />}
                {shown.map((line) => <Line line={line} />)}
              </>
            )
          );
        })}
        {left > 0 && lines.skippedAfter > 0 && <Skipped lines={lines.skippedAfter} />}
        {total === 0 && <div class="diff-skip">No line differs.</div>}
      </div>
      {!whole && (
        <button type="button" class="quiet wide" onClick={() => setAll(true)}>
          Show all {count(total, "line")}
        </button>
      )}
    </figure>
  );
});

export function Sums({ diff, isNew }: { diff: LineDiff; isNew: boolean }) {
  return (
    <span class="sums">
      {isNew && <span class="new">new </span>}
      <span class="plus">+{diff.added}</span> <span class="minus">−{diff.removed}</span>
    </span>
  );
}

const NAMES = { "+": "added", "-": "removed", " ": "same" } as const;

function Line({ line }: { line: DiffLine }) {
  return (
    <div class={`diff-line ${NAMES[line.sign]}`}>
      <span class="no">{line.sign === "-" ? line.old : line.new}</span>
      <span class="sign">{line.sign}</span>
      <span class="text">
        <Shown text={line.text} as="block" />
        {line.open && <span class="mark"> no newline at the end</span>}
      </span>
    </div>
  );
}

function Skipped({ lines }: { lines: number }) {
  return <div class="diff-skip">{count(lines, "unchanged line")}</div>;
}
