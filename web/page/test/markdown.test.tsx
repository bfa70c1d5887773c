// Markdown: never markup, never a request, and a long answer costs only its end.
import { render } from "preact";
import { beforeEach, describe, expect, it } from "vitest";
import { BlockCache, Blocks, safeHref, unescape } from "../src/text/markdown.js";
import { MarkdownBlock } from "../src/view/markdown.js";

let host: HTMLElement;
beforeEach(() => {
  host = document.createElement("div");
});

function show(text: string): HTMLElement {
  render(<>{new Blocks().update(text, true).map((block) => <MarkdownBlock block={block} />)}</>, host);
  return host;
}

const HOSTILE = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "<svg/onload=alert(1)>",
  "<iframe src='https://example.org'></iframe>",
  "text <b onclick=alert(1)>bold</b> text",
  "[click](javascript:alert(1))",
  "[click](JaVaScRiPt:alert(1))",
  "[click](java&#x09;script:alert(1))",
  "[click](&#106;avascript:alert(1))",
  "[click](data:text/html,<script>alert(1)</script>)",
  "[click](vbscript:x)",
  "[click](file:///etc/passwd)",
  "[click](//example.org)",
  "[click](blob:https://example.org/1)",
  "![x](javascript:alert(1))",
  "![x](x\" onerror=\"alert(1))",
  "<javascript:alert(1)>",
  "<a href='javascript:alert(1)'>x</a>",
  "<style>body{display:none}</style>",
  "<meta http-equiv=refresh content='0;url=https://example.org'>",
  "```html\n<script>alert(1)</script>\n```",
  "| <img src=x onerror=alert(1)> |\n|---|\n| <script>x</script> |",
  "- <img src=x onerror=alert(1)>",
  "> <script>alert(1)</script>",
  "# <script>alert(1)</script>",
];
const HARMLESS = new Set([
  "P", "DIV", "SPAN", "PRE", "CODE", "UL", "OL", "LI", "BLOCKQUOTE", "TABLE", "THEAD", "TBODY", "TR", "TH", "TD", "H3", "H4",
  "STRONG", "EM", "DEL", "BR", "HR", "A", "BUTTON", "svg", "path", "SVG", "PATH",
]);

describe("hostile text", () => {
  it.each(HOSTILE)("%s", (text) => {
    for (const element of show(text).querySelectorAll("*")) {
      expect(HARMLESS.has(element.tagName), element.tagName).toBe(true);
      for (const { name } of Array.from(element.attributes)) expect(name.startsWith("on"), name).toBe(false);
      if (element.tagName === "A") expect(element.getAttribute("href")).toMatch(/^https?:/);
    }
    // What was written can still be read.
    expect(host.textContent).toMatch(/alert|example|passwd|vbscript|display|script/);
  });
});

/** How many characters the lexer's expressions are offered: its work, without a clock. */
function offered(run: () => void): number {
  const { exec } = RegExp.prototype;
  let sum = 0;
  RegExp.prototype.exec = function (text) {
    const from = this.global ? this.lastIndex : 0;
    const match = exec.call(this, text);
    // A search through a text goes on where it left off; everything else may look at all of it.
    if (this.sticky) sum += match?.[0].length ?? 1;
    else sum += this.global && match !== null ? match.index + match[0].length - from : text.length - from;
    return match;
  };
  try {
    run();
  } finally {
    RegExp.prototype.exec = exec;
  }
  return sum;
}

const times = (unit: string, length: number) => unit.repeat(Math.ceil(length / unit.length));
const FLOODS: [string, string][] = [
  ...["_", "*", "~", "`", "[", "]", "<", "\\", "!", "(", ">", "> ", "- ", "1. ", "* ", "|", "_a", "*a ", "a**", "[a](", "![", "<a ", "x@y", "www.", "a\n", "- a\n", "a\n-\n", "|a|b|\n|-|-|\n", "\n\n", "```\n"]
    .flatMap((unit): [string, string][] => [[`${JSON.stringify(unit)} at length`, times(unit, 40_000)], [`${JSON.stringify(unit)} and words`, times(unit, 900) + times("a", 15_000)], [`words and ${JSON.stringify(unit)}`, `- a\n${times(unit, 2_000)}`]]),
  ["deep lists", Array.from({ length: 300 }, (_, at) => `${" ".repeat(at * 2)}- a\n`).join("")],
  ["wide tables", `|${"a|".repeat(2_000)}\n|${"-|".repeat(2_000)}\n${"|a\n".repeat(1_300)}`],
];

describe("floods", () => {
  it.each(FLOODS)("of %s cost little", (_name, text) => {
    let shown = "";
    const work = offered(() => {
      shown = new Blocks().update(text, true).map((block) => ("plain" in block ? block.plain : block.tokens[0]!.raw)).join("");
    });
    expect(work).toBeLessThan(60_000_000);
    // Plain or read, nothing of it is lost but blank lines.
    expect(shown.replaceAll(/\s/g, "").length).toBe(text.replaceAll(/\s/g, "").length);
  });

  it("leave the other blocks as they are", () => {
    const shown = show(`**before**\n\n${"_".repeat(40_000)}a\n\n**after**`);
    expect(Array.from(shown.querySelectorAll("strong"), (word) => word.textContent)).toEqual(["before", "after"]);
    expect(shown.querySelector(".plain")!.textContent).toBe(`${"_".repeat(40_000)}a`);
  });

  it("do not make a long list or a long answer plain", () => {
    const list = Array.from({ length: 90 }, (_, at) => `- **item ${at}** with \`code\`, and words that say what it is for`).join("\n");
    expect(show(list).querySelectorAll("li code").length).toBe(90);
    expect(show(`a\n\n${"-".repeat(80)}\n\nb`).querySelectorAll("hr").length).toBe(1);
    const answer = Array.from({ length: 500 }, (_, at) => `Paragraph ${at} with \`code\` and **words**, and [a link](https://example.org/${at}).`).join("\n\n");
    expect(show(answer).querySelectorAll("p a").length).toBe(500);
  });
});

describe("ordinary text", () => {
  it("follows links to the web only, and tells nobody where from", () => {
    const link = show("[docs](https://example.org/a)").querySelector("a")!;
    expect([link.getAttribute("href"), link.getAttribute("rel"), link.getAttribute("target")]).toEqual(["https://example.org/a", "noopener noreferrer nofollow", "_blank"]);
  });

  it("makes an image a link", () => {
    const shown = show("![cat](https://example.org/cat.png)");
    expect(shown.querySelector("img")).toBeNull();
    expect(shown.querySelector("a")!.textContent).toBe("image: cat");
  });

  it("shows lists, tables, code and tasks", () => {
    const shown = show("3. three\n4. four\n\n- [x] done\n- [ ] open\n\n|a|b|\n|-|-:|\n|1|2|\n\n```rust\nfn x() {}\n```\n\n**b** *i* ~~d~~ `c`");
    expect(shown.querySelector("ol")!.getAttribute("start")).toBe("3");
    expect(Array.from(shown.querySelectorAll("li.task"), (item) => item.textContent)).toEqual(["☑ done", "☐ open"]);
    expect(shown.querySelectorAll("td").length).toBe(2);
    expect(shown.querySelector("pre code")!.textContent).toBe("fn x() {}");
    expect(shown.querySelector("strong")!.textContent).toBe("b");
  });

  it("reads character references as text", () => {
    expect(show("a &lt;b&gt; &amp; &#65; &nosuch;").textContent).toBe("a <b> & A &nosuch;");
    expect(unescape("&#0;&#xD800;&amp;lt;")).toBe("\ufffd\ufffd&lt;");
  });

  it("marks direction overrides", () => {
    expect(show("a\u202eb").querySelector(".mark")!.textContent).toBe("\\u202e");
  });
});

describe("safeHref", () => {
  it.each(["javascript:alert(1)", " javascript:alert(1)", "\u0001javascript:alert(1)", "relative/path", "", "mailto:a@example.org"])("refuses %j", (href) => {
    expect(safeHref(href)).toBeNull();
  });
});

describe("a growing text", () => {
  const paragraphs = Array.from({ length: 40 }, (_, at) => `Paragraph ${at} with *words*.`);

  it("keeps its finished blocks, the very same objects", () => {
    const blocks = new Blocks();
    const before = blocks.update(paragraphs.slice(0, 20).join("\n\n"), false);
    const after = blocks.update(paragraphs.join("\n\n"), false);
    expect(after.slice(0, 19)).toEqual(before.slice(0, 19));
    for (let at = 0; at < 19; at++) expect(after[at]).toBe(before[at]);
  });

  it("ends as if it had come at once, wherever it was cut", () => {
    const text = "# T\n\n1. a\n\n   b\n2. c\n\n```js\nlet a;\n\nlet b;\n```\n\n|a|\n|-|\n|1|\n\nend &amp; [x](https://example.org)\n";
    const whole = new Blocks().update(text, true);
    for (const step of [1, 3, 7]) {
      const blocks = new Blocks();
      for (let at = 0; at < text.length; at += step) blocks.update(text.slice(0, at), false);
      const kinds = (list: ReturnType<Blocks["update"]>) => list.flatMap((block) => ("tokens" in block ? block.tokens.filter((token) => token.type !== "space").map((token) => token.raw.trim()) : [block.plain]));
      expect(kinds(blocks.update(text, true))).toEqual(kinds(whole));
    }
  });

  it("that is long and open is plain until it ends, in pieces of which only the last changes", () => {
    const blocks = new Blocks();
    const code = (lines: number) => `\`\`\`\n${Array.from({ length: lines }, (_, at) => `line ${at}`).join("\n")}`;
    const before = blocks.update(code(10_000), false);
    const after = blocks.update(code(10_010), false);
    expect(before.every((block) => "plain" in block)).toBe(true);
    expect(after.slice(0, before.length - 1)).toEqual(before.slice(0, -1));
    const ended = blocks.update(`${code(10_010)}\n\`\`\`\n`, true);
    expect(ended.length).toBe(1);
    expect("tokens" in ended[0]! && ended[0].tokens[0]!.type).toBe("code");
  });

  it("costs little for each of many small steps", () => {
    const blocks = new Blocks();
    let text = "";
    const started = performance.now();
    for (let at = 0; at < 2_000; at++) {
      text += `word **${at}** and some more words to make it long, `;
      if (at % 20 === 0) text += "\n\n";
      blocks.update(text, false);
    }
    expect(text.length).toBeGreaterThan(90_000);
    // Reading it whole each time takes far longer; the bound leaves room for a busy machine.
    expect(performance.now() - started).toBeLessThan(8_000);
  });

  it("that was replaced is read anew", () => {
    const cache = new BlockCache();
    cache.get("a", "one\n\ntwo", false);
    const now = cache.get("a", "other", true);
    expect(now).toHaveLength(1);
    expect("tokens" in now[0]! && now[0].tokens[0]!.raw).toBe("other");
  });
});
