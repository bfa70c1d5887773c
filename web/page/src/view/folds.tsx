// Owns the set of unfolded parts. It outlives the rows, which the list removes when they scroll out of sight.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Icon } from "./icons.js";

/** The parts that the user opened or closed, by name; all others have their default state. */
export class Folds {
  #open = new Map<string, boolean>();

  get(key: string, usually: boolean): boolean {
    return this.#open.get(key) ?? usually;
  }

  set(key: string, open: boolean): void {
    this.#open.set(key, open);
  }
}

type Props = {
  folds: Folds;
  name: string;
  usually?: boolean;
  class?: string;
  head: ComponentChildren;
  /** Rendered only when open. */
  children: () => ComponentChildren;
};

export function Fold({ folds, name, usually = false, class: extra, head, children }: Props) {
  const [, again] = useState(0);
  const open = folds.get(name, usually);
  const toggle = () => {
    folds.set(name, !open);
    again((n) => n + 1);
  };
  return (
    <div class={`fold ${extra ?? ""}`} data-open={open}>
      <button type="button" class="fold-head" aria-expanded={open} onClick={toggle}>
        <Icon name="chevron" turns />
        {head}
      </button>
      {open && <div class="fold-body">{children()}</div>}
    </div>
  );
}
