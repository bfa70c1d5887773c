// The line diff: right, shortest in small cases, and bounded in large ones.
import { describe, expect, it } from "vitest";
import { diffLines, type LineDiff } from "../src/text/diff.js";

const show = (diff: LineDiff) =>
  diff.hunks.flatMap((hunk) => [...(hunk.skipped > 0 ? [`@${hunk.skipped}`] : []), ...hunk.lines.map((line) => line.sign + line.text)]);

/** Both texts again, from the lines of the diff; only for diffs without skipped lines. */
function restored(diff: LineDiff): [string[], string[]] {
  const lines = diff.hunks.flatMap((hunk) => hunk.lines);
  return [lines.filter((line) => line.sign !== "+").map((line) => line.text), lines.filter((line) => line.sign !== "-").map((line) => line.text)];
}

describe("diffLines", () => {
  it("shows what goes and what comes, with its numbers", () => {
    const diff = diffLines("a\nb\nc\n", "a\nB\nc\n");
    expect(show(diff)).toEqual([" a", "-b", "+B", " c"]);
    expect(diff.hunks[0]!.lines.map((line) => [line.old, line.new])).toEqual([[1, 1], [2, null], [null, 2], [3, 3]]);
    expect([diff.added, diff.removed]).toEqual([1, 1]);
  });

  it("shows a new file as added", () => {
    expect(show(diffLines(null, "x\ny\n"))).toEqual(["+x", "+y"]);
  });

  it("keeps three lines around a change and counts the rest", () => {
    const old = Array.from({ length: 20 }, (_, at) => `line ${at}`);
    const now = old.with(10, "changed");
    const diff = diffLines(`${old.join("\n")}\n`, `${now.join("\n")}\n`);
    expect(show(diff)).toEqual(["@7", " line 7", " line 8", " line 9", "-line 10", "+changed", " line 11", " line 12", " line 13"]);
    expect(diff.skippedAfter).toBe(6);
  });

  it("tells a missing newline at the end", () => {
    const diff = diffLines("a\n", "a");
    expect([diff.added, diff.removed]).toEqual([1, 1]);
    expect(diff.hunks[0]!.lines.map((line) => line.open)).toEqual([false, true]);
  });

  it("tells a carriage return that nobody sees", () => {
    expect(show(diffLines("a\n", "a\r\n"))).toEqual(["-a", "+a\r"]);
  });

  it("finds nothing in equal texts", () => {
    expect(diffLines("a\nb\n", "a\nb\n")).toEqual({ hunks: [], skippedAfter: 2, added: 0, removed: 0 });
  });

  it("gives both texts back, whatever they are, and with the fewest edits", () => {
    let seed = 7;
    const random = (n: number) => (seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff) % n;
    for (let round = 0; round < 300; round++) {
      const a = Array.from({ length: random(9) }, () => "abc"[random(3)]!);
      const b = Array.from({ length: random(9) }, () => "abc"[random(3)]!);
      const text = (lines: string[]) => lines.map((line) => `${line}\n`).join("");
      const diff = diffLines(text(a), text(b));
      if (diff.added + diff.removed === 0) {
        expect(a).toEqual(b);
        continue;
      }
      const common = longestCommon(a, b);
      expect([diff.added, diff.removed]).toEqual([b.length - common, a.length - common]);
      if (diff.hunks.every((hunk) => hunk.skipped === 0) && diff.skippedAfter === 0) expect(restored(diff)).toEqual([a, b]);
    }
  });

  it("replaces everything when the texts have little in common, and soon", () => {
    const many = (word: string) => Array.from({ length: 20_000 }, (_, at) => `${word} ${at}\n`).join("");
    const started = performance.now();
    const diff = diffLines(many("old"), many("new"));
    expect([diff.added, diff.removed]).toEqual([20_000, 20_000]);
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});

function longestCommon(a: string[], b: string[]): number {
  const table = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      table[i]![j] = a[i - 1] === b[j - 1] ? table[i - 1]![j - 1]! + 1 : Math.max(table[i - 1]![j]!, table[i]![j - 1]!);
    }
  }
  return table[a.length]![b.length]!;
}
