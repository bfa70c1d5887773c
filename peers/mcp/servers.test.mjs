// Runs two third-party MCP servers in a session: both over stdio, and one also over streamable HTTP.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { patiently, withAgent } from "./agent.mjs";

// Only the servers receive this value.
const SECRET = "a-value-that-nobody-sees";

const program = (name) =>
  fileURLToPath(new URL(`node_modules/@modelcontextprotocol/${name}/dist/index.js`, import.meta.url));

const stdio = (name, server, ...args) => ({
  name,
  command: process.execPath,
  args: [program(server), ...args],
  env: [{ name: "PEER_KEY", value: SECRET }],
});

describe("MCP servers", () => {
  let root, cwd, runs;
  before(async () => {
    root = await realpath(await mkdtemp(path.join(tmpdir(), "harn-peer-mcp-")));
    cwd = root;
    runs = 0;
    await writeFile(path.join(cwd, "note.txt"), "written for a server\n");
  });
  after(() => rm(root, { recursive: true, force: true }));

  const withServers = async (mcpServers, use) => {
    const [state, log] = [path.join(root, `state-${++runs}`), path.join(root, `log-${runs}`)];
    const ended = await withAgent({ state, log, cwd, mcpServers }, use);
    const logged = await readFile(log, "utf8");
    assert.ok(!logged.includes(SECRET), "a value of a server's settings was logged");
    return ended;
  };

  it("server-everything over stdio: is listed, calls, and fails a call", async () => {
    const { started } = await withServers([stdio("everything", "server-everything", "stdio")], async (agent) => {
      const { said } = await agent.prompt("/mcp");
      assert.match(said, /everything/);
      assert.match(said, /ready/i);
      assert.match(said, /mcp__everything__echo/);
      const echo = await agent.call("mcp__everything__echo", { message: "hi" });
      assert.equal(echo.status, "completed");
      assert.match(echo.text, /Echo: hi/);
      const sum = await agent.call("mcp__everything__get-sum", { a: 2, b: 3 });
      assert.equal(sum.status, "completed");
      assert.match(sum.text, /\b5\b/);
      const roots = await agent.call("mcp__everything__get-roots-list", {});
      assert.match(roots.text, new RegExp(path.basename(cwd)));
      const wrong = await agent.call("mcp__everything__get-sum", { a: "two" });
      assert.equal(wrong.status, "failed");
    });
    assert.ok(started > 0, "the server ran below the agent");
  });

  it("server-filesystem over stdio: reads a file, and keeps to its folder", async () => {
    const { started } = await withServers([stdio("files", "server-filesystem", cwd)], async (agent) => {
      const note = await agent.call("mcp__files__read_text_file", { path: path.join(cwd, "note.txt") });
      assert.equal(note.status, "completed");
      assert.match(note.text, /written for a server/);
      const outside = await agent.call("mcp__files__read_text_file", { path: "/etc/hosts" });
      assert.equal(outside.status, "failed");
    });
    assert.ok(started > 0, "the server ran below the agent");
  });

  it("both at once, and one that is not there", async () => {
    const servers = [
      stdio("everything", "server-everything", "stdio"),
      stdio("files", "server-filesystem", cwd),
      { name: "missing", command: path.join(cwd, "no-such-program"), args: [], env: [] },
    ];
    await withServers(servers, async (agent) => {
      const { said } = await agent.prompt("/mcp");
      assert.match(said, /no-such-program/);
      assert.match(said, /mcp__files__read_text_file/);
      const echo = await agent.call("mcp__everything__echo", { message: "still" });
      assert.match(echo.text, /Echo: still/);
    });
  });

  it("server-everything over streamable HTTP: calls, and is still there afterwards", async () => {
    const port = await freePort();
    const env = { ...process.env, PORT: String(port) };
    const args = [program("server-everything"), "streamableHttp"];
    const server = spawn(process.execPath, args, { env, stdio: "ignore" });
    try {
      const url = `http://127.0.0.1:${port}/mcp`;
      await patiently("the server to listen", listening(url));
      const headers = [{ name: "X-Peer-Key", value: SECRET }];
      await withServers([{ type: "http", name: "web", url, headers }], async (agent) => {
        const { said } = await agent.prompt("/mcp");
        assert.match(said, /mcp__web__echo/);
        const echo = await agent.call("mcp__web__echo", { message: "over HTTP" });
        assert.equal(echo.status, "completed");
        assert.match(echo.text, /Echo: over HTTP/);
      });
      assert.equal(server.exitCode, null, "it is not ours to end");
    } finally {
      server.kill("SIGKILL");
      await once(server, "close");
    }
  });
});

async function freePort() {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address();
  probe.close();
  await once(probe, "close");
  return port;
}

async function listening(url) {
  for (;;) {
    try {
      return await fetch(url);
    } catch {
      await new Promise((done) => setTimeout(done, 20));
    }
  }
}
