// Turns parsed Markdown into elements: from tokens only, never from markup, and without loading anything.
import type { Token, Tokens } from "marked";
import type { ComponentChildren, VNode } from "preact";
import { useState } from "preact/hooks";
import { safeHref, unescape, type Block } from "../text/markdown.js";
import { Icon } from "./icons.js";
import { memo } from "./memo.js";
import { Shown } from "./shown.js";

/** The same block is the same object, so a long text costs only its last block. */
export const MarkdownBlock = memo(function MarkdownBlock({ block }: { block: Block }) {
  if ("plain" in block) return <PlainText text={block.plain} />;
  return <>{block.tokens.map((token) => blockOf(token))}</>;
});

const PlainText = memo(function PlainText({ text }: { text: string }) {
  return (
    <div class="plain">
      <Shown text={text} as="prose" />
    </div>
  );
});

const prose = (text: string) => <Shown text={unescape(text)} as="prose" />;

function blockOf(token: Token): ComponentChildren {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading":
      return <Heading depth={(token as Tokens.Heading).depth}>{inline(token.tokens)}</Heading>;
    case "paragraph":
      return <p dir="auto">{inline(token.tokens)}</p>;
    case "text":
      return token.tokens ? inline(token.tokens) : prose(token["text"] as string);
    case "code":
      return <Code text={(token as Tokens.Code).text} lang={(token as Tokens.Code).lang ?? ""} />;
    case "hr":
      return <hr />;
    case "blockquote":
      return <blockquote>{token.tokens?.map(blockOf)}</blockquote>;
    case "list":
      return listOf(token as Tokens.List);
    case "table":
      return tableOf(token as Tokens.Table);
    default:
      // HTML and other tokens: shows the source text.
      return (
        <p class="plain">
          <Shown text={token.raw} as="prose" />
        </p>
      );
  }
}

function Heading({ depth, children }: { depth: number; children: ComponentChildren }) {
  // The page itself uses the first two levels of headings.
  const Tag = `h${Math.min(depth + 2, 6)}` as "h3";
  return <Tag dir="auto">{children}</Tag>;
}

function listOf(list: Tokens.List): VNode {
  const items = list.items.map((item) => (
    <li class={item.task ? "task" : undefined} dir="auto">
      {item.task && <span class="box">{item.checked ? "☑ " : "☐ "}</span>}
      {item.tokens.filter((token) => token.type !== "checkbox").map(blockOf)}
    </li>
  ));
  return list.ordered ? <ol start={list.start === "" ? 1 : list.start}>{items}</ol> : <ul>{items}</ul>;
}

function tableOf(table: Tokens.Table): VNode {
  const side = (cell: Tokens.TableCell) => (cell.align ? `at-${cell.align}` : undefined);
  return (
    <div class="table">
      <table>
        <thead>
          <tr>{table.header.map((cell) => <th class={side(cell)}>{inline(cell.tokens)}</th>)}</tr>
        </thead>
        <tbody>
          {table.rows.map((row) => <tr>{row.map((cell) => <td class={side(cell)}>{inline(cell.tokens)}</td>)}</tr>)}
        </tbody>
      </table>
    </div>
  );
}

function inline(tokens: Token[] | undefined): ComponentChildren {
  return tokens?.map((token) => {
    switch (token.type) {
      case "text":
        return token.tokens ? inline(token.tokens) : prose(token["text"] as string);
      case "escape":
        return <Shown text={token["text"] as string} as="prose" />;
      case "strong":
        return <strong>{inline(token.tokens)}</strong>;
      case "em":
        return <em>{inline(token.tokens)}</em>;
      case "del":
        return <del>{inline(token.tokens)}</del>;
      case "codespan":
        return (
          <code>
            <Shown text={(token as Tokens.Codespan).text} as="block" />
          </code>
        );
      case "checkbox":
        return null;
      case "br":
        return <br />;
      case "link":
        return linkOf((token as Tokens.Link).href, token.raw, inline(token.tokens));
      case "image":
        // Loading an image would reveal the user to its server, so it is only a link.
        return linkOf((token as Tokens.Image).href, token.raw, <>image: {prose((token as Tokens.Image).text || "untitled")}</>);
      default:
        return <Shown text={token.raw} as="prose" />;
    }
  });
}

function linkOf(href: string, raw: string, children: ComponentChildren): VNode {
  const safe = safeHref(href);
  if (safe === null) return <Shown text={raw} as="prose" />;
  return (
    <a href={safe} title={safe} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

function Code({ text, lang }: { text: string; lang: string }) {
  const [copied, setCopied] = useState(false);
  const copy = () => {
    void navigator.clipboard?.writeText(text).then(() => {
      setCopied(true);
      setTimeout(() => setCopied(false), 1_500);
    });
  };
  return (
    <div class="code">
      <div class="code-bar">
        <span>
          <Shown text={lang.split(/\s/)[0] ?? ""} as="line" />
        </span>
        <button type="button" class="quiet small" onClick={copy}>
          <Icon name={copied ? "check" : "copy"} /> {copied ? "Copied" : "Copy"}
        </button>
      </div>
      <pre tabIndex={0} aria-label="Code">
        <code dir="ltr">
          <Shown text={text} as="block" />
        </code>
      </pre>
    </div>
  );
}
