// Owns the real server of these tests: the binary that HARN_SERVE names, with a scenario, a folder of its own and a free port.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const BINARY = process.env.HARN_SERVE;
const SCENARIO = fileURLToPath(new URL("page.yaml", import.meta.url));

async function freePort() {
  const probe = createServer();
  await new Promise((done) => probe.listen(0, "127.0.0.1", done));
  const { port } = probe.address();
  await new Promise((done) => probe.close(done));
  return port;
}

export class Server {
  /** `name` is the name of the folder that the agent works in. */
  static async start(scenario = SCENARIO, name = "work") {
    if (!BINARY) throw new Error("HARN_SERVE must name the harn-serve binary, for instance ../../target/debug/harn-serve");
    const server = new Server();
    server.scenario = scenario;
    server.folder = await mkdtemp(join(tmpdir(), "harn-page-"));
    server.work = join(server.folder, name);
    await mkdir(server.work);
    server.port = await freePort();
    server.token = randomBytes(16).toString("hex");
    await server.run();
    return server;
  }

  /** Starts the process and waits for the address that it prints. */
  async run() {
    const args = ["serve", "--listen", `127.0.0.1:${this.port}`, "--engine", `script:${this.scenario}`, "--state-dir", join(this.folder, "state"), "--cwd", this.work];
    this.process = spawn(BINARY, args, { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, HARN_SERVE_TOKEN: this.token } });
    let said = "";
    this.url = await new Promise((found, failed) => {
      const hear = (chunk) => {
        said += chunk;
        const match = /http:\/\/\S+#code=\S+/.exec(said);
        if (match) found(match[0]);
      };
      this.process.stdout.on("data", hear);
      this.process.stderr.on("data", hear);
      this.process.on("exit", (code) => failed(new Error(`harn-serve ended with ${code} before it printed an address:\n${said}`)));
    });
  }

  get origin() {
    return `http://127.0.0.1:${this.port}/`;
  }

  /** Like kill -9: without a message to any client. */
  async kill() {
    const gone = new Promise((done) => this.process.once("exit", done));
    this.process.kill("SIGKILL");
    await gone;
  }

  /** Ends the process; `keep` leaves its folder for the next one. */
  async stop({ keep = false } = {}) {
    if (this.process.exitCode === null && this.process.signalCode === null) {
      const gone = new Promise((done) => this.process.once("exit", done));
      this.process.kill("SIGTERM");
      await gone;
    }
    if (!keep) await rm(this.folder, { recursive: true, force: true });
  }
}
