// Owns the line diff: the shortest edit between two texts, bounded, and its hunks with a little context.

export type DiffLine = {
  sign: " " | "+" | "-";
  text: string;
  old: number | null;
  new: number | null;
  /** The file ends here without a newline. */
  open: boolean;
};
export type Hunk = { skipped: number; lines: DiffLine[] };
export type LineDiff = { hunks: Hunk[]; skippedAfter: number; added: number; removed: number };

const CONTEXT = 3;
/** With more edits than this the search costs too much: the diff then replaces everything in between. */
const MOST_EDITS = 1_500;

export function diffLines(oldText: string | null, newText: string): LineDiff {
  const before = split(oldText ?? "");
  const after = split(newText);
  return hunksOf(edits(before, after));
}

/** Lines without their line ends. A last line without an end gets a mark that no line can contain, so that the diff shows it. */
function split(text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  const last = lines.pop()!;
  if (last !== "") lines.push(`${last}\n`);
  return lines;
}

function shown(sign: DiffLine["sign"], line: string, old: number | null, now: number | null): DiffLine {
  const open = line.endsWith("\n");
  return { sign, text: open ? line.slice(0, -1) : line, old, new: now, open };
}

function edits(a: string[], b: string[]): DiffLine[] {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let endA = a.length;
  let endB = b.length;
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) {
    endA--;
    endB--;
  }
  const out: DiffLine[] = [];
  const same = (i: number, j: number) => out.push(shown(" ", a[i]!, i + 1, j + 1));
  const gone = (i: number) => out.push(shown("-", a[i]!, i + 1, null));
  const come = (j: number) => out.push(shown("+", b[j]!, null, j + 1));
  for (let i = 0; i < start; i++) same(i, i);
  let i = start;
  let j = start;
  for (const [x, y] of common(a.slice(start, endA), b.slice(start, endB))) {
    while (i < start + x) gone(i++);
    while (j < start + y) come(j++);
    same(i++, j++);
  }
  while (i < endA) gone(i++);
  while (j < endB) come(j++);
  while (i < a.length) same(i++, j++);
  return out;
}

/** The pairs of equal lines of a shortest edit script (Myers), in order; none when the texts differ too much. */
function common(a: string[], b: string[]): [number, number][] {
  const most = Math.min(a.length + b.length, MOST_EDITS);
  const reach = new Int32Array(2 * most + 3);
  const mid = most + 1;
  const trail: Int32Array[] = [];
  for (let d = 0; d <= most; d++) {
    // Only the diagonals that step d can read are kept, so the trail grows with the edits and not with the bound.
    trail.push(reach.slice(mid - d - 1, mid + d + 2));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && reach[mid + k - 1]! < reach[mid + k + 1]!);
      let x = down ? reach[mid + k + 1]! : reach[mid + k - 1]! + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      reach[mid + k] = x;
      if (x >= a.length && x - k >= b.length) return retrace(trail, a.length, b.length);
    }
  }
  return [];
}

function retrace(trail: Int32Array[], lengthA: number, lengthB: number): [number, number][] {
  const pairs: [number, number][] = [];
  let x = lengthA;
  let y = lengthB;
  for (let d = trail.length - 1; d >= 0; d--) {
    const reach = trail[d]!;
    const mid = d + 1;
    const k = x - y;
    const down = k === -d || (k !== d && reach[mid + k - 1]! < reach[mid + k + 1]!);
    const fromK = down ? k + 1 : k - 1;
    const fromX = d === 0 ? 0 : reach[mid + fromK]!;
    const fromY = d === 0 ? 0 : fromX - fromK;
    const [stepX, stepY] = d === 0 ? [0, 0] : down ? [fromX, fromY + 1] : [fromX + 1, fromY];
    while (x > stepX && y > stepY) pairs.push([--x, --y]);
    x = fromX;
    y = fromY;
  }
  return pairs.reverse();
}

function hunksOf(lines: DiffLine[]): LineDiff {
  const near = new Uint8Array(lines.length);
  let added = 0;
  let removed = 0;
  lines.forEach(({ sign }, at) => {
    if (sign === " ") return;
    if (sign === "+") added++;
    else removed++;
    near.fill(1, Math.max(0, at - CONTEXT), at + CONTEXT + 1);
  });
  const hunks: Hunk[] = [];
  let skipped = 0;
  let open: Hunk | null = null;
  lines.forEach((line, at) => {
    if (near[at] !== 1) {
      skipped++;
      open = null;
      return;
    }
    if (open === null) {
      open = { skipped, lines: [] };
      hunks.push(open);
      skipped = 0;
    }
    open.lines.push(line);
  });
  return { hunks, skippedAfter: skipped, added, removed };
}
