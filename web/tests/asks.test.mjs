// What the agent asks a person: permissions with the exact command or change, questions, and hostile words in them.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { launch } from "./browser.mjs";
import { Server } from "./server.mjs";
import { again, box, close, newSession, say, sees, signedIn, status } from "./steps.mjs";

let browser;
let server;
before(async () => {
  [browser, server] = [await launch(), await Server.start()];
  await (await signedIn(browser, server)).close();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const fresh = async () => {
  const page = await again(browser, server);
  await newSession(page);
  return page;
};
const card = (page) => page.locator(".card.approval");

describe("a permission", () => {
  it("shows the change and is given", async () => {
    const page = await fresh();
    await say(page, "note");
    await card(page).waitFor();
    await status(page, "waits for you");
    assert.deepEqual(await card(page).locator(".diff-line .text").allInnerTexts(), ["first", "second", "second, changed"]);
    assert.equal(await card(page).locator(".diff-line.added").count(), 1);
    assert.equal(await card(page).locator(".diff-line.removed").count(), 1);
    // The focus stays in the box, so a key for the box cannot allow anything.
    assert.equal(await page.evaluate(() => document.activeElement.tagName), "TEXTAREA");
    await card(page).locator(".answer-button.allow").first().click();
    await card(page).waitFor({ state: "detached" });
    await sees(page, "It is written.");
    await close(page);
  });

  it("is refused, with a reason", async () => {
    const page = await fresh();
    await say(page, "note");
    await card(page).getByLabel("Reason for a refusal").fill("not today");
    await card(page).locator(".answer-button.reject").first().click();
    await sees(page, "Then I leave it.");
    await page.locator(".tool-state.failed").waitFor();
    await close(page);
  });

  it("shows the whole command, which runs only when it is allowed", async () => {
    const page = await fresh();
    const file = join(server.work, "made-by-the-page");
    await say(page, "run");
    await card(page).locator(".command", { hasText: "touch made-by-the-page && echo 'whole command' shown" }).waitFor();
    assert.equal(existsSync(file), false);
    await card(page).getByRole("button", { name: /once/ }).and(card(page).locator(".allow")).click();
    await sees(page, "The command is through.");
    assert.equal(existsSync(file), true);
    await page.getByRole("button", { name: /touch made-by-the-page/ }).click();
    await page.locator(".output", { hasText: "whole command shown" }).waitFor();
    await close(page);
  });
});

describe("the answers to a permission", () => {
  const keys = (page) => card(page).locator(".answer-button kbd").allInnerTexts();
  const ready = (page) => card(page).locator('.answer-button.allow[aria-disabled="false"]').first().waitFor();
  const report = (page, words) => card(page).getByRole("status").filter({ hasText: words }).waitFor();

  it("have the letters and the order of the terminal, and name what lasts", async () => {
    const page = await fresh();
    await say(page, "run");
    await ready(page);
    assert.deepEqual(await keys(page), ["y", "s", "w", "n", "x"]);
    const names = await card(page).locator(".answer-button").allInnerTexts();
    assert.deepEqual(names.map((name) => name.replace(/^\w\s+/, "")), [
      "Allow this once", "Allow for this session", "Always allow in this workspace", "Reject this once", "Always reject in this workspace",
    ]);
    await card(page).getByText("Lasting answers apply to `touch made-by-the-page && echo 'whole command' shown`").waitFor();
    await card(page).locator(".answer-button.reject").first().click();
    await close(page);
  });

  it("are given by a letter while the card has the focus, and a key without meaning is reported", async () => {
    const page = await fresh();
    await say(page, "note");
    await ready(page);
    // In the box and in the field for a reason, letters are letters.
    await box(page).pressSequentially("yn");
    await card(page).getByLabel("Reason for a refusal").pressSequentially("yn");
    assert.equal(await card(page).count(), 1);
    await card(page).focus();
    for (const key of ["q", "S", "W", "X"]) {
      await page.keyboard.press(key);
      await report(page, `“${key}” is no answer`);
    }
    await report(page, "y, s, w, n, x");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Control+y");
    assert.equal(await card(page).count(), 1);
    await page.keyboard.press("y");
    await sees(page, "It is written.");
    assert.equal(await box(page).inputValue(), "yn");
    await box(page).fill("");
    await say(page, "note again");
    await ready(page);
    await card(page).focus();
    await page.keyboard.press("N");
    await sees(page, "Then I leave it.");
    await close(page);
  });

  it("for the session hold for the session", async () => {
    const page = await fresh();
    await say(page, "run");
    await ready(page);
    await card(page).focus();
    await page.keyboard.press("s");
    await sees(page, "The command is through.");
    await say(page, "run it again");
    await page.waitForFunction(() => document.querySelectorAll(".tool.is-complete").length === 2);
    await close(page);
  });

  for (const [width, height] of [[375, 812], [375, 667], [1280, 800]]) {
    it(`can all be seen at ${width} by ${height}, whatever is asked`, async (t) => {
      const command = `echo ${"a long command that has many words ".repeat(40)}`;
      const scenario = join(server.folder, `wide-${width}-${height}.json`);
      const changed = Array.from({ length: 300 }, (_, at) => `line ${at}\n`).join("");
      const heredoc = `cat > x.py <<EOF\n${'print("some text")\n'.repeat(60)}EOF`;
      const title = "A title that goes on and on ".repeat(30);
      await writeFile(scenario, JSON.stringify({ name: "wide", turns: [
        { match: "^lines", steps: [{ run: { command: heredoc } }] },
        { match: "^title", steps: [{ ask: { tool: "deploy", kind: "other", title, input: { to: "staging" } } }] },
        { match: "^change", steps: [{ write: { path: "a.txt", text: changed } }] }, { steps: [{ run: { command } }] },
      ] }));
      const wide = await Server.start(scenario);
      t.after(() => wide.stop());
      const page = await signedIn(browser, wide, { viewport: { width, height } });
      await newSession(page);
      for (const prompt of ["command", "change", "lines", "title"]) {
        await say(page, prompt);
        await ready(page);
        const places = await card(page).locator(".answer-button").evaluateAll((buttons) => buttons.map((button) => {
          const { x, y, width, height, bottom, right } = button.getBoundingClientRect();
          const seen = [[x + 3, y + 3], [right - 3, bottom - 3]].every(([left, top]) => button.contains(document.elementFromPoint(left, top)));
          return { text: button.innerText, seen, x, y, width, height };
        }));
        assert.equal(places.length, 5);
        assert.deepEqual(places.filter(({ seen }) => !seen), []);
        const body = await card(page).locator(".card-body").boundingBox();
        assert.ok(body.height >= 60, JSON.stringify(body));
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
        await card(page).locator(".answer-button.reject").first().click();
        await card(page).waitFor({ state: "detached" });
        await status(page, "idle");
      }
      await close(page);
    });
  }

  it("belong to one question at a time, and the others are a step away", async () => {
    const page = await fresh();
    await say(page, "both");
    await page.getByText("Question 1 of 2").waitFor();
    assert.equal(await card(page).count(), 1);
    const first = await card(page).locator(".command").innerText();
    await page.getByRole("button", { name: "Next question" }).click();
    await page.getByText("Question 2 of 2").waitFor();
    assert.notEqual(await card(page).locator(".command").innerText(), first);
    for (let left = 2; left > 0; left--) {
      await ready(page);
      await card(page).locator(".answer-button.reject").first().click();
    }
    await sees(page, "Both are answered.");
    await close(page);
  });
});

describe("a long change", () => {
  it("is allowed only when all of it is shown, and nothing lies over it on a small screen", async (t) => {
    const lines = (word, most) => Array.from({ length: most }, (_, at) => `${word} ${at + 1}\n`).join("");
    const ask = (new_text) => ({ ask: { tool: "write_file", kind: "edit", title: "Write it", input: { path: "a.txt" }, diff: { path: "a.txt", old_text: "", new_text }, on_allow: [{ say: "Written." }], on_reject: [{ say: "Not written." }] } });
    const scenario = join(server.folder, "long.json");
    await writeFile(scenario, JSON.stringify({ name: "long", turns: [{ match: "^longer", steps: [ask(lines("line", 2_500))] }, { steps: [ask(lines("line", 1_000))] }] }));
    const long = await Server.start(scenario);
    t.after(() => long.stop());
    const page = await signedIn(browser, long, { viewport: { width: 320, height: 600 } });
    await newSession(page);
    await say(page, "long");
    await card(page).locator('.answer-button.allow[aria-disabled="false"]').first().waitFor();
    assert.equal(await card(page).locator(".diff-line.added").count(), 1_000);
    const [body, foot] = [await card(page).locator(".card-body").boundingBox(), await card(page).locator(".card-foot").boundingBox()];
    assert.ok(body.height >= 100 && body.y + body.height <= foot.y + 1, JSON.stringify({ body, foot }));
    await card(page).locator(".answer-button.reject").first().click();
    await sees(page, "Not written.");
    await say(page, "longer");
    await card(page).locator('.answer-button.reject[aria-disabled="false"]').first().waitFor();
    assert.equal(await card(page).locator('.answer-button.allow[aria-disabled="false"]').count(), 0);
    await card(page).getByRole("button", { name: /Show all/ }).click();
    await card(page).locator('.answer-button.allow[aria-disabled="false"]').first().click();
    await sees(page, "Written.");
    await close(page);
  });
});

describe("output", () => {
  it("of a command is shown as it arrives, and stays where the command failed", async (t) => {
    const waiting = (file, code) => `echo begun ${file}; while [ ! -e ${file} ]; do sleep 0.05; done; echo gone on; exit ${code}`;
    const turn = (file, code) => ({ match: `^${file}`, steps: [{ run: { command: waiting(file, code) } }, { say: `${file} is through.` }] });
    const scenario = join(server.folder, "slowly.json");
    await writeFile(scenario, JSON.stringify({ name: "slowly", turns: [turn("good", 0), turn("bad", 3)] }));
    const slowly = await Server.start(scenario);
    t.after(() => slowly.stop());
    const page = await signedIn(browser, slowly);
    await newSession(page);
    for (const file of ["good", "bad"]) {
      await say(page, file);
      await card(page).locator('.answer-button.allow[aria-disabled="false"]').first().click();
      const output = page.locator(".tool").last().locator(".output");
      await output.getByText(`begun ${file}`).waitFor();
      await page.locator(".tool-state.running").waitFor();
      assert.ok(!(await output.innerText()).includes("gone on"));
      await writeFile(join(slowly.work, file), "");
      await sees(page, `${file} is through.`);
    }
    // The first call succeeded and is folded; the second one failed and is open.
    assert.deepEqual(await page.locator(".tool").evaluateAll((calls) => calls.map((call) => call.querySelector(".output") !== null)), [false, true]);
    await page.locator(".output").getByText("gone on").waitFor();
    await close(page);
  });

  it("that is long is cut, and fetched whole when asked for", async (t) => {
    const text = Array.from({ length: 20_000 }, (_, at) => `${at + 1}\n`).join("");
    const call = { tool_call_id: "count-{turn}", tool_name: "count" };
    const scenario = join(server.folder, "count.json");
    const steps = [
      { emit: { type: "tool_call", ...call, title: "Count", kind: "read", status: "in_progress" } },
      { emit: { type: "tool_call_update", ...call, status: "completed", content: [{ type: "content", content: { type: "text", text } }] } },
      { say: "Counted." },
    ];
    await writeFile(scenario, JSON.stringify({ name: "count", turns: [{ steps }] }));
    const counting = await Server.start(scenario);
    t.after(() => counting.stop());
    const page = await signedIn(browser, counting);
    await newSession(page);
    await say(page, "count");
    await sees(page, "Counted.");
    await page.locator(".tool").getByRole("button", { name: "Count" }).click();
    const output = page.locator(".output");
    assert.ok((await output.textContent()).length < 70_000);
    await page.getByRole("button", { name: "This is cut. Show all" }).click();
    await page.waitForFunction(() => document.querySelector(".output").textContent.length > 100_000);
    assert.equal(await output.textContent(), text);
    await close(page);
  });
});

describe("questions", () => {
  it("are answered with a choice, and with yes", async () => {
    const page = await fresh();
    await say(page, "question");
    await page.locator(".card.question", { hasText: "Which port?" }).waitFor();
    await page.locator(".countdown").first().waitFor();
    await page.getByRole("button", { name: "9090" }).click();
    await sees(page, "Thanks.");
    await page.locator(".card.question", { hasText: "Version 2" }).getByRole("button", { name: "Approve" }).click();
    await sees(page, "Deployed.");
    await close(page);
  });
});

describe("hostile words", () => {
  it("are shown, do nothing, and hide nothing", async () => {
    const page = await fresh();
    await say(page, "hostile");
    await card(page).waitFor();
    // In the question: the server has made the override, the blank and the escape visible.
    const asked = await card(page).innerText();
    for (const mark of ["\\u{202e}", "\\u{200b}", "\\u{1b}[8m"]) assert.ok(asked.includes(mark), `${mark} in ${asked}`);
    assert.ok(!/[\u202a-\u202e\u2066-\u2069\u200b\u001b]/.test(asked));
    // In the call: its title and its output.
    const call = page.locator(".tool").first();
    assert.ok((await call.innerText()).includes("\\u202egnp.exe\\x1b[2J"));
    await call.getByRole("button").first().click();
    const output = await page.locator(".output").first().innerText();
    for (const part of ["<script>window.owned=1</script>", "\\x1b[31mred\\x1b[0m\\x07", "\\u202eright\\u202c\\u200bzero"]) assert.ok(output.includes(part), output);
    // In the answer: no element, no link that runs, no image that is fetched.
    const words = page.locator(".words");
    assert.equal(await words.locator("script, img, svg, iframe").count(), 0);
    assert.deepEqual(await words.locator("a").evaluateAll((links) => links.map((link) => link.getAttribute("href"))), ["https://example.org/i.png"]);
    await card(page).locator(".answer-button.reject").first().click();
    await sees(page, "Refused.");
    await close(page);
  });
});

describe("without a mouse", () => {
  it("Escape stops what runs, wherever the focus is in the session", async () => {
    const page = await fresh();
    await say(page, "note");
    await card(page).waitFor();
    await card(page).focus();
    await page.keyboard.press("Escape");
    await card(page).waitFor({ state: "detached" });
    await status(page, "idle");
    await page.waitForFunction(() => document.activeElement.matches(".prompt textarea"));
    await close(page);
  });

  it("a permission is reached, refused and the next prompt written", async () => {
    const page = await fresh();
    await page.keyboard.type("note");
    await page.keyboard.press("Enter");
    await card(page).waitFor();
    await card(page).locator('.answer-button[aria-disabled="false"]').first().waitFor();
    // Backwards from the box: the answers are just before it, the rejections before the allowances.
    let seen = "";
    for (let step = 0; step < 12 && !/reject$/.test(seen); step++) {
      await page.keyboard.press("Shift+Tab");
      seen = await page.evaluate(() => document.activeElement.className);
      assert.ok(!seen.includes("allow"), seen);
    }
    assert.match(seen, /reject$/);
    assert.notEqual(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), "none");
    await page.keyboard.press("Enter");
    await sees(page, "Then I leave it.");
    // The card with the focus disappeared, and the box got the focus.
    await page.waitForFunction(() => document.activeElement.matches(".prompt textarea"));
    await page.keyboard.type("hello");
    await page.keyboard.press("Enter");
    await sees(page, "You said something.");
    assert.equal(await box(page).inputValue(), "");
    await close(page);
  });
});
