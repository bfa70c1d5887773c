// This host against the real agent on its tour, which shows every shape once: what arrives fits the
// schemas, and the recording keeps the rules of the wire.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { Host } from "../src/host.js";
import type { Question } from "../src/permission.js";
import { judge, root } from "./contract.js";

const TOUR = process.env.TOUR ?? fileURLToPath(new URL("../../fixtures/scenarios/tour.yaml", root));

/** `harn-serve fixtures verify --json`: its exit code and what it found. */
function verify(file: string): { code: number | null; findings: any[] } {
  const command = process.env.HARN_SERVE ?? "harn-serve";
  const { status, stdout } = spawnSync(command, ["fixtures", "verify", "--json", file], { encoding: "utf8" });
  return { code: status, findings: stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line)) };
}

describe("on tour", () => {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "harn-host-")));
  const lines: string[] = [];
  const questions: Question[] = [];
  let host: Host, advertised: any;
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** The recording with one line replaced, as a file. */
  const recording = (name: string, change?: { line: number; text: string }) => {
    const file = path.join(folder, name);
    const changed = change ? lines.with(change.line - 1, change.text) : lines;
    writeFileSync(file, `${changed.join("\n")}\n`);
    return file;
  };
  const received = () => {
    const entries: { to: string; message: any }[] = lines.map((line) => JSON.parse(line));
    return entries.filter(({ to }) => to === "client").map(({ message }) => message);
  };

  before(async () => {
    host = new Host(["acp", "--engine", `script:${TOUR}`, "--state-dir", path.join(folder, "state")], {
      line: (line) => lines.push(line),
      asked: (question) => {
        questions.push(question);
        return "allow_once";
      },
    });
    advertised = (await host.initialize()).agentCapabilities?._meta?.harn;
    const session = await host.open(folder);
    assert.equal(await host.prompt(session, "/everything"), "end_turn");
    assert.equal(await host.prompt(session, "/write"), "end_turn");
    assert.equal(await host.prompt(session, "/delegate"), "end_turn");
    // What becomes of a control is told by the runtime alone, so no scenario has it.
    await host.cancel(session);
    await host.close(session);
    assert.equal(await host.end(), 0);
  });

  it("every message fits the schemas", () => {
    for (const message of received()) assert.deepEqual(judge(message).problems, [], JSON.stringify(message));
  });

  it("every extension that was advertised arrived", () => {
    const updates = received().flatMap((message) => message.params?.update ?? []);
    const names = updates.map((update) => update._meta?.harn?.sessionUpdate ?? update.sessionUpdate);
    assert.deepEqual(advertised.sessionUpdateExtensions.filter((name: string) => !names.includes(name)), []);
    const kinds = received().filter((m) => m.method === "_harn/agentEvent").map((m) => m.params.kind);
    const { kinds: promised } = advertised.extensionMethods["_harn/agentEvent"];
    // That the tools are others comes where tools do, and no tour brings any.
    assert.deepEqual(promised.filter((kind: string) => !kinds.includes(kind)), ["tools_changed"]);
  });

  it("the host showed what went on", () => {
    const rows = [...host.rows.values()];
    for (const row of [
      /^writer: .* — completed$/,
      /^Indexing the workspace \(120 of 480\)$/,
      /^close_ticket — failed, .*mcp_server_error/,
    ]) {
      assert.ok(rows.some((text) => row.test(text)), `${row} is not in\n${rows.join("\n")}`);
    }
    // One of the agent, one of a worker's worker.
    assert.deepEqual(questions.map(({ title }) => title), ["Write NOTES.md", "lead › writer › Write NOTES.md"]);
  });

  it("whoever was asked saw the change, the reason, the deadline and what each answer covers", () => {
    for (const { detail, reason, until, options } of questions) {
      assert.deepEqual(detail, [path.join(folder, "NOTES.md"), "+ Seen on a tour."]);
      assert.match(reason ?? "", /mode is ask/);
      assert.ok(Date.parse(until ?? "") > Date.now());
      assert.deepEqual(options.map(({ id, scope }) => `${id}: ${scope}`), [
        "allow_once: once", "allow_session: session", "allow_always: always",
        "reject_once: once", "reject_always: always",
      ]);
    }
  });

  it("the recording keeps the rules", () => {
    assert.deepEqual(verify(recording("session.jsonl")), { code: 0, findings: [] });
  });

  /** The number of the first line that holds all of these texts, and the line. */
  const find = (...texts: string[]) => {
    const index = lines.findIndex((line) => texts.every((text) => line.includes(text)));
    assert.notEqual(index, -1, `no line has ${texts}`);
    return { line: index + 1, text: lines[index]! };
  };
  for (const [rule, texts, from, to] of [
    ["worker-terminal-wrong", ['"WorkerCompleted"'], '"terminal":true', '"terminal":false'],
    ["wrong-extension", ['"sessionUpdate":"skill_activated"'], '"skillName"', '"skill_name"'],
    ["update-before-call", ['"tool_call_update"', '"completed"'], '"toolCallId":"', '"toolCallId":"not-'],
  ] as const) {
    it(`a recording that was tampered with is refused: ${rule}`, () => {
      const { line, text } = find(...texts);
      const { code, findings } = verify(recording(`${rule}.jsonl`, { line, text: text.replace(from, to) }));
      assert.equal(code, 1);
      assert.ok(
        findings.some((finding) => finding.rule === rule && finding.line === line),
        `line ${line} breaks ${rule}; found ${JSON.stringify(findings)}`,
      );
    });
  }
});
