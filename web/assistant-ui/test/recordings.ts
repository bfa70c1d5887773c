// Recordings of the wire, a message a line: those beside this file, and those the server's own tests wrote.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type { ServerFrame } from "../src/index.js";

export type Recording = { readonly name: string; readonly ours: boolean; readonly frames: readonly ServerFrame[] };

// The tests run from the package, compiled into a folder of their own.
const OURS = path.resolve("test/recordings");
const OF_THE_SERVER = path.resolve("../../fixtures/state");

export function recordings(): Recording[] {
  return [
    ...folder(OURS).flatMap((file) => read(file, true)),
    ...(existsSync(OF_THE_SERVER) ? folder(OF_THE_SERVER).flatMap((file) => read(file, false)) : []),
  ];
}

function folder(dir: string): string[] {
  return readdirSync(dir)
    .filter((file) => file.endsWith(".jsonl"))
    .sort()
    .map((file) => path.join(dir, file));
}

/** One for each socket in it: each has a document of its own. */
function read(file: string, ours: boolean): Recording[] {
  const lines = readFileSync(file, "utf8").split("\n").filter((line) => line !== "");
  const sockets = new Map<string, ServerFrame[]>();
  const others = new Set<string>();
  let socket = "1";
  for (const line of lines.map((line) => JSON.parse(line) as Line)) {
    const [, number, path] = /^socket (\d+):(?: GET (\S+))?/.exec(line.note ?? "") ?? [];
    socket = number ?? socket;
    // The list of sessions is another document.
    if (path?.startsWith("/ws/sessions")) others.add(socket);
    sockets.set(socket, [...(sockets.get(socket) ?? []), ...frameOf(line)]);
  }
  const name = path.basename(file, ".jsonl");
  // A rejected socket gets no frames here.
  const all = [...sockets].filter(([number, frames]) => !others.has(number) && frames.length > 0);
  if (all.length === 0) throw new Error(`${file} has no frame that went to a client`);
  return all.map(([number, frames]) => ({ name: all.length > 1 ? `${name}, socket ${number}` : name, ours, frames }));
}

type Line = { note?: string; message?: unknown; frame?: unknown };

/** Lines that went to the server, and notes between them, have no such frame. */
function frameOf(line: Line): ServerFrame[] {
  const frame = (line.message ?? line.frame) as ServerFrame | undefined;
  return frame?.type === "state" || frame?.type === "delta" || frame?.type === "error" ? [frame] : [];
}
