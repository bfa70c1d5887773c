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
    ...folder(OURS).map((file) => read(file, true)),
    ...(existsSync(OF_THE_SERVER) ? folder(OF_THE_SERVER).map((file) => read(file, false)) : []),
  ];
}

function folder(dir: string): string[] {
  return readdirSync(dir)
    .filter((file) => file.endsWith(".jsonl"))
    .sort()
    .map((file) => path.join(dir, file));
}

function read(file: string, ours: boolean): Recording {
  const lines = readFileSync(file, "utf8").split("\n").filter((line) => line !== "");
  const frames = lines.flatMap((line) => frameOf(JSON.parse(line)));
  if (!ours && frames.length === 0) throw new Error(`${file} has no frame that went to a client`);
  return { name: path.basename(file, ".jsonl"), ours, frames };
}

/** Lines that went to the server, and notes between them, have no such frame. */
function frameOf(line: { message?: unknown; frame?: unknown }): ServerFrame[] {
  const frame = (line.message ?? line.frame) as ServerFrame | undefined;
  return frame?.type === "state" || frame?.type === "delta" || frame?.type === "error" ? [frame] : [];
}
