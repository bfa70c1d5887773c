// The harn-serve that tests run against: one that already runs (HARN_SERVE_URL, such as http://127.0.0.1:8080, and
// HARN_SERVE_TOKEN), or a fresh one of the binary that HARN_SERVE names, which plays the scenario of the other peers.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before } from "node:test";

const { HARN_SERVE: binary, HARN_SERVE_URL: running, HARN_SERVE_TOKEN: token, ...env } = process.env;

/** The reason why no server is available. */
export const noServer: string | false =
  binary === undefined && running === undefined && "neither HARN_SERVE nor HARN_SERVE_URL is set";
/** The reason why the answers of the server are not known. */
export const unknownPlay: string | false = (running !== undefined || binary === undefined) && "HARN_SERVE does not name a binary";

export type Live = { readonly url: URL; readonly token: string | undefined };

/** For a `describe`: starts the server before its tests, and checks after them that it ended well. */
export function liveServer(): () => Live {
  let live: Live | undefined;
  let stop = async (): Promise<void> => {};
  before(async () => {
    if (running !== undefined) live = { url: new URL(running), token };
    else if (binary !== undefined) ({ stop, ...live } = await start(binary));
  });
  after(() => stop());
  return () => {
    assert.ok(live, "there is no server");
    return live;
  };
}

async function start(binary: string): Promise<Live & { stop(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "harn-assistant-ui-"));
  const state = join(folder, "state");
  const scenario = resolve("../../peers/wires.yaml");
  const args = ["serve", "--listen", "127.0.0.1:0", "--engine", `script:${scenario}`, "--state-dir", state, "--cwd", folder];
  const child = spawn(binary, args, { stdio: ["ignore", "ignore", "pipe"], env });
  const ended = once(child, "close");
  // Aborted tests must not leave the server running.
  process.once("exit", () => child.kill("SIGKILL"));
  let said = "";
  const url = await new Promise<URL>((found, failed) => {
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      const address = /listening on (http:\S+)\n/.exec(said)?.[1];
      if (address !== undefined) found(new URL(address));
    });
    child.once("error", failed);
    void ended.then(() => failed(new Error(`harn-serve ended before it listened:\n${said}`)));
  });
  return {
    url,
    token: (await readFile(join(state, "token"), "utf8")).trim(),
    async stop() {
      child.kill("SIGTERM");
      const [code] = await ended;
      await rm(folder, { recursive: true, force: true });
      assert.equal(code, 0, said);
      assert.doesNotMatch(said, /\b(warn|error)\b|panicked/i, "the server complained");
    },
  };
}
