// Characters that hide or act are shown, everywhere they could deceive.
import { describe, expect, it } from "vitest";
import { visible, visibleText } from "../src/text/visible.js";

describe("visible", () => {
  it.each([
    ["an escape sequence, whole", "a\u001b[31mred\u001b[0m", "block", "a\\x1b[31mred\\x1b[0m"],
    ["a title set by the terminal", "\u001b]0;evil\u0007x", "block", "\\x1b]0;evil\\x07x"],
    ["a lone escape", "a\u001b", "block", "a\\x1b"],
    ["a bell, a null and a delete", "\u0007\u0000\u007f", "block", "\\x07\\x00\\x7f"],
    ["a C1 control", "\u009b31m", "block", "\\u009b31m"],
    ["a right-to-left override", "rm \u202e/var", "line", "rm \\u202e/var"],
    ["isolates", "\u2066x\u2069", "line", "\\u2066x\\u2069"],
    ["direction marks", "\u200e\u200f\u061c", "block", "\\u200e\\u200f\\u061c"],
    ["zero-width characters", "a\u200bb\u200cc\u200dd\ufeff\u2060", "block", "a\\u200bb\\u200cc\\u200dd\\ufeff\\u2060"],
    ["fillers that look like nothing", "a\u3164\u115f", "line", "a\\u3164\\u115f"],
    ["tag characters", "a\u{e0041}", "block", "a\\u{e0041}"],
    ["half a pair", "a\ud800b", "block", "a\\ud800b"],
    ["line and paragraph separators", "a\u2028b\u2029", "line", "a\\u2028b\\u2029"],
    ["a line break in a title", "safe\nrm -rf /", "line", "safe\\nrm -rf /"],
    ["a tab in a title", "a\tb", "line", "a\\tb"],
    ["a carriage return that overwrites", "rm -rf /\recho hi", "block", "rm -rf /\\recho hi"],
    ["a carriage return in a command's name", "a\r\nb", "line", "a\\r\\nb"],
    ["an override in prose", "a\u202eb", "prose", "a\\u202eb"],
  ] as const)("shows %s", (_name, text, reading, want) => {
    expect(visibleText(text, reading)).toBe(want);
  });

  it.each([
    ["lines and tabs of output", "a\n\tb\r\nc", "block", "a\n\tb\nc"],
    ["joiners of words and emoji in prose", "نمی\u200cخواهم 👩\u200d💻", "prose", "نمی\u200cخواهم 👩\u200d💻"],
    ["emoji with their looks", "❤\ufe0f", "block", "❤\ufe0f"],
    ["markup", "<script>alert(1)</script>", "block", "<script>alert(1)</script>"],
  ] as const)("leaves %s", (_name, text, reading, want) => {
    expect(visible(text, reading)).toEqual([want]);
  });

  it("keeps what is marked apart from what was written", () => {
    expect(visible("a\u0000\u0001b", "block")).toEqual(["a", { mark: "\\x00\\x01" }, "b"]);
    expect(visible("\\x00", "block")).toEqual(["\\x00"]);
    expect(visible("", "line")).toEqual([]);
  });
});
