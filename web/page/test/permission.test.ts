// The grammar of a permission question: order, keys and labels of the answers.
import { describe, expect, it } from "vitest";
import { answerOf, answersOf, characterOf } from "../src/permission.js";
import type { ApprovalOption } from "../src/wire/types.js";

const OPTIONS: ApprovalOption[] = [
  { id: "reject_always", name: "Always reject `ls` in this workspace", kind: "reject_always", scope: "always" },
  { id: "reject_once", name: "Reject this once", kind: "reject_once", scope: "once" },
  { id: "allow_always", name: "Always allow `ls` in this workspace", kind: "allow_always", scope: "always" },
  { id: "allow_session", name: "Allow `ls` for this session", kind: "allow_always", scope: "session" },
  { id: "allow_once", name: "Allow this once", kind: "allow_once", scope: "once" },
];
const rows = (options: ApprovalOption[]) => answersOf(options).map(({ option, key, label, about }) => [key, option.id, label, about]);

describe("answers", () => {
  it("have one order and one letter each, whatever order they come in", () => {
    const expected = [
      ["y", "allow_once", "Allow this once", null],
      ["s", "allow_session", "Allow for this session", "`ls`"],
      ["w", "allow_always", "Always allow in this workspace", "`ls`"],
      ["n", "reject_once", "Reject this once", null],
      ["x", "reject_always", "Always reject in this workspace", "`ls`"],
    ];
    expect(rows(OPTIONS)).toEqual(expected);
    expect(rows(OPTIONS.toReversed())).toEqual(expected);
  });

  it("keep their letters where there are fewer", () => {
    const few = OPTIONS.filter(({ id }) => id === "reject_once" || id === "allow_session");
    expect(rows(few).map(([key]) => key)).toEqual(["s", "n"]);
  });

  it("have a number where a letter is taken or none fits", () => {
    const again = { ...OPTIONS[4]!, id: "again" };
    const strange = { id: "strange", name: "Whatever", kind: "unheard_of", scope: "once" } as unknown as ApprovalOption;
    expect(rows([...OPTIONS, again, strange]).map(([key, id]) => `${key} ${id}`)).toEqual([
      "y allow_once", "2 again", "s allow_session", "w allow_always", "n reject_once", "x reject_always", "7 strange",
    ]);
  });
});

describe("a key", () => {
  it("may be a capital letter only for an answer that holds once", () => {
    const chosen = [..."yYnNsSwWxX?"].map((pressed) => answerOf(answersOf(OPTIONS), pressed)?.option.id ?? "-");
    expect(chosen.join(" ")).toBe("allow_once allow_once reject_once reject_once allow_session - allow_always - reject_always - -");
  });

  const key = (more: object) => ({ key: "y", ctrlKey: false, metaKey: false, altKey: false, isComposing: false, repeat: false, ...more });
  it("is a character, and none that the browser or a held key sends", () => {
    expect(characterOf(key({}))).toBe("y");
    expect(characterOf(key({ key: "Y" }))).toBe("Y");
    for (const other of [{ key: "Enter" }, { key: " " }, { key: "Tab" }, { ctrlKey: true }, { metaKey: true }, { altKey: true }, { isComposing: true }, { repeat: true }]) {
      expect(characterOf(key(other))).toBe(null);
    }
  });
});
