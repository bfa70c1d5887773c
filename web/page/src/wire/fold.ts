// Owns the fold: applies a delta to a document in place, completely or not at all, and reports the changed topics.
import type { Json, Op } from "./types.js";

/** An operation that does not fit the document: this copy differs from the server's. */
export class Misfit extends Error {
  constructor(op: unknown, why: string) {
    super(`operation does not fit the document: ${why}: ${JSON.stringify(op)?.slice(0, 200) ?? "nothing"}`);
    this.name = "Misfit";
  }
}

/** A holder, so that an operation on the empty path can replace the whole document. */
export type Root = { doc: Json };

type Container = Json[] | { [key: string]: Json };
type Undo = { at: Container | Root; key: string | number; had: boolean; old: Json | undefined };

const INDEX = /^(?:0|[1-9][0-9]{0,8})$/;
const FORBIDDEN = new Set(["__proto__", "constructor", "prototype"]);

/** Applies the operations in order; when one does not fit, undoes those before it and throws `Misfit`. */
export function fold(root: Root, ops: Op[], touched: (path: string[]) => void): void {
  const undo: Undo[] = [];
  try {
    if (!Array.isArray(ops)) throw new Misfit(ops, "a delta needs a list of operations");
    for (const op of ops) apply(root, op, undo);
  } catch (error) {
    for (let i = undo.length - 1; i >= 0; i--) revert(undo[i]!);
    throw error;
  }
  for (const op of ops) touched(op.path);
}

function apply(root: Root, op: Op, undo: Undo[]): void {
  const { path } = op;
  if (!Array.isArray(path)) throw new Misfit(op, "no path");
  if (op.type !== "set" && op.type !== "append-text") throw new Misfit(op, "unknown operation");
  if (op.type === "append-text" && typeof op.value !== "string") throw new Misfit(op, "only text can be appended");
  let at: Container | Root = root;
  let key: string | number = "doc";
  for (const part of path) {
    let next: Json | undefined = read(at, key);
    if (next === undefined && op.type === "set" && at !== root) {
      // Creates missing objects on the path, as the library of the contract does; never an array.
      next = {};
      write(at, key, next, undo);
    }
    if (next === null || typeof next !== "object") throw new Misfit(op, `nothing can be below ${String(key)}`);
    at = next;
    key = keyOf(op, at, part);
  }
  if (op.type === "set") {
    write(at, key, op.value, undo);
    return;
  }
  const text = read(at, key);
  if (typeof text !== "string") throw new Misfit(op, "text can only be appended to text");
  write(at, key, text + op.value, undo);
}

function keyOf(op: Op, at: Container, part: unknown): string | number {
  if (Array.isArray(at)) {
    if (!INDEX.test(String(part))) throw new Misfit(op, "not an index");
    const index = Number(part);
    if (index > at.length) throw new Misfit(op, `index past the end, which is ${at.length}`);
    return index;
  }
  if (typeof part !== "string" && typeof part !== "number") throw new Misfit(op, "a path is made of text");
  if (FORBIDDEN.has(String(part))) throw new Misfit(op, "forbidden name");
  return String(part);
}

function read(at: Container | Root, key: string | number): Json | undefined {
  return Object.hasOwn(at, key) ? (at as Record<string | number, Json>)[key] : undefined;
}

function write(at: Container | Root, key: string | number, value: Json, undo: Undo[]): void {
  undo.push({ at, key, had: Object.hasOwn(at, key), old: read(at, key) });
  (at as Record<string | number, Json>)[key] = value;
}

function revert({ at, key, had, old }: Undo): void {
  if (had) (at as Record<string | number, Json | undefined>)[key] = old;
  else if (Array.isArray(at)) at.length -= 1;
  else delete (at as Record<string, Json>)[key];
}
