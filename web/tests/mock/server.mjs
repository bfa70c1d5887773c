// Owns a mock of the server: the built page and a made-up session over the state wire. It measures the speed of the page
// with an exact number of frames, which a real agent does not guarantee; all other tests use the real server.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { WebSocketServer } from "ws";

const ROOT = fileURLToPath(new URL("../../../crates/state/page/", import.meta.url));
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/** Starts on a free port of the loopback; `made` is the session's state. */
export async function start(made) {
  const sockets = new Set();
  const lists = new Set();
  const row = { id: made.session.id, title: made.session.title, cwd: made.session.cwd, createdAt: made.session.createdAt, updatedAt: Date.now(), status: "idle", controller: null, clients: 1 };
  const list = { sessions: [row], cwd: row.cwd, examples: [] };

  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, "http://mock");
    const json = (status, body) => response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (pathname === "/login" && request.method === "GET") return json(200, { principal: "owner" });
    if (pathname === "/login" || pathname === "/logout") return response.writeHead(204).end();
    const file = join(ROOT, normalize(pathname === "/" ? "/index.html" : pathname));
    try {
      const body = await readFile(file);
      response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream", "content-security-policy": CSP }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });

  const upgrades = new WebSocketServer({ noServer: true, handleProtocols: () => "harn.state.v1" });
  server.on("upgrade", (request, socket, head) => {
    const url = new URL(request.url, "http://mock");
    upgrades.handleUpgrade(request, socket, head, (ws) => {
      const isList = url.pathname === "/ws/sessions";
      const set = isList ? lists : sockets;
      set.add(ws);
      ws.on("close", () => set.delete(ws));
      if (isList) return ws.send(JSON.stringify({ type: "state", state: list }));
      const client = url.searchParams.get("client");
      if (client !== null) made.controller ??= client;
      ws.send(JSON.stringify({ type: "state", state: made }));
    });
  });

  const api = {
    delta(operations) {
      const text = JSON.stringify({ type: "delta", operations });
      for (const ws of sockets) ws.send(text);
    },
    stop: () =>
      new Promise((done) => {
        for (const ws of [...sockets, ...lists]) ws.terminate();
        server.close(done);
        server.closeAllConnections();
      }),
    url: "",
  };
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  api.url = `http://127.0.0.1:${server.address().port}/#/s/${made.session.id}`;
  return api;
}
