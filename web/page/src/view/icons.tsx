// Owns the icons: one stroke, one size, in the colour of the text.
import type { ToolKind } from "../wire/types.js";

const PATHS = {
  read: "M4 3h6l3 3v9H4zM10 3v3h3M6.5 9h4M6.5 11.5h4",
  edit: "M3.5 14.5l.7-3L11 4.7l2.3 2.3-6.8 6.8zM9.7 6l2.3 2.3",
  delete: "M4 5h10M7.5 5V3.5h3V5M5.5 5l.6 9.5h5.8l.6-9.5",
  move: "M3 9h11M10.5 5.5L14 9l-3.5 3.5",
  search: "M8 12.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM11.3 11.3L15 15",
  execute: "M3 4h12v10H3zM5.5 7l2 2-2 2M9 11h3",
  think: "M9 3a4.5 4.5 0 0 0-2.5 8.2V13h5v-1.8A4.5 4.5 0 0 0 9 3zM7 15h4",
  fetch: "M9 15A6 6 0 1 0 9 3a6 6 0 0 0 0 12zM3 9h12M9 3c4 4 4 8 0 12M9 3c-4 4-4 8 0 12",
  other: "M9 3.5l1.6 3.6 3.9.4-2.9 2.6.8 3.9L9 12l-3.4 2 .8-3.9-2.9-2.6 3.9-.4z",
  chevron: "M7 5l4 4-4 4",
  back: "M11 5l-4 4 4 4",
  down: "M5 7l4 4 4-4",
  menu: "M3 5h12M3 9h12M3 13h12",
  panel: "M3 4h12v10H3zM11 4v10",
  plus: "M9 4v10M4 9h10",
  close: "M5 5l8 8M13 5l-8 8",
  stop: "M5.5 5.5h7v7h-7z",
  check: "M4 9.5l3.2 3.2L14 6",
  warn: "M9 3.5l6 11H3zM9 8v3M9 12.8v.2",
  copy: "M6.5 6.5h7v8h-7zM4.5 11.5v-8h7",
  theme: "M9 3a6 6 0 1 0 0 12zM9 3a6 6 0 0 1 0 12",
  leave: "M8 4H4v10h4M8 9h7M12 6l3 3-3 3",
  up: "M9 14V4M5 8l4-4 4 4",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, turns = false }: { name: IconName; turns?: boolean }) {
  return (
    <svg class={turns ? "icon turn" : "icon"} viewBox="0 0 18 18" width="16" height="16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

const KINDS: Record<ToolKind, string> = {
  read: "Read", edit: "Edit", delete: "Delete", move: "Move", search: "Search", execute: "Run", think: "Think",
  fetch: "Fetch", other: "Tool",
};
export const kindName = (kind: ToolKind): string => KINDS[kind] ?? "Tool";
export const kindIcon = (kind: ToolKind): IconName => (kind in KINDS ? kind : "other");
