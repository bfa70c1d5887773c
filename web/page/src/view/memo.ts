// Owns `memo`: a component that renders again only when one of its properties changes.
import { Component, createElement, type ComponentType, type FunctionComponent } from "preact";

export function memo<P extends object>(render: FunctionComponent<P>): ComponentType<P> {
  return class Memo extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      const now = this.props as Record<string, unknown>;
      const then = next as Record<string, unknown>;
      for (const key in then) if (then[key] !== now[key]) return true;
      for (const key in now) if (!(key in then)) return true;
      return false;
    }
    override render() {
      return createElement(render as FunctionComponent<object>, this.props as object);
    }
  };
}
