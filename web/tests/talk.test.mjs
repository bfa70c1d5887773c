// Talking with an agent: prompts, streams, stops, queues, steers, and what survives a reload or a restart.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { launch, openPage } from "./browser.mjs";
import { Server } from "./server.mjs";
import { again, box, close, newSession, otherTab, say, sees, signedIn, status, transcript } from "./steps.mjs";

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

const fresh = async (options) => {
  const page = await again(browser, server, options);
  await newSession(page);
  return page;
};

describe("signing in", () => {
  it("needs a token where there is no cookie, and the code leaves the address", async () => {
    const page = await openPage(browser);
    await page.goto(`${server.origin}#code=wrong`);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    assert.equal(new URL(page.url()).hash, "");
    await page.getByLabel("Token").fill("nonsense");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").filter({ hasText: /\w/ }).waitFor();
    await page.getByLabel("Token").fill(server.token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "New session" }).waitFor();
    await close(page);
  });

  it("ends with signing out", async () => {
    const page = await again(browser, server);
    await page.getByRole("heading", { name: "New session" }).waitFor();
    const other = await otherTab(page);
    await newSession(other);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    // In the other tabs, too.
    await other.getByRole("heading", { name: "Sign in" }).waitFor();
    assert.deepEqual(other.complaints, []);
    await close(page);
  });
});

describe("the first screen", () => {
  it("has a box to write in, the folder and examples, and what is sent there begins a session", async () => {
    const page = await again(browser, server);
    const examples = page.getByRole("group", { name: "Examples" }).getByRole("button");
    await examples.first().waitFor();
    assert.equal(await page.getByLabel("Folder").inputValue(), server.work);
    assert.deepEqual(await examples.allInnerTexts(), ["/stream", "/slow", "/note"]);
    await examples.nth(2).click();
    assert.equal(await box(page).inputValue(), "/note");
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Prompt");
    await box(page).fill("hello from the first screen");
    await box(page).press("Enter");
    await page.waitForURL(/#\/s\//);
    await sees(page, "You said something.");
    assert.deepEqual(await page.locator(".said-text").allInnerTexts(), ["hello from the first screen"]);
    assert.equal(await box(page).inputValue(), "");
    // The next form is empty again.
    await page.getByRole("link", { name: "New session" }).click();
    await page.getByRole("heading", { name: "New session" }).waitFor();
    assert.equal(await box(page).inputValue(), "");
    await close(page);
  });

  it("leaves the prompt in the box when the session could not be made, and a session without one has examples, too", async () => {
    const page = await again(browser, server);
    await page.getByLabel("Folder").fill("/does/not/exist");
    await box(page).fill("hello again");
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByRole("alert").filter({ hasText: "absolute path to an existing directory" }).waitFor();
    assert.equal(await box(page).inputValue(), "hello again");
    await box(page).fill("");
    await page.getByLabel("Folder").fill(server.work);
    await newSession(page);
    await page.getByText(`Folder ${server.work}`).waitFor();
    await page.getByRole("group", { name: "Examples" }).getByRole("button", { name: "/note" }).click();
    await page.waitForFunction(() => document.querySelector(".prompt textarea").value === "/note");
    await box(page).press("Escape");
    await box(page).press("Enter");
    await page.locator(".card.approval").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await close(page);
  });
});

describe("a new session", () => {
  it("in a folder that is not there says so, and the form is as it was", async () => {
    const page = await again(browser, server);
    for (const folder of ["/does/not/exist", "relative"]) {
      await page.getByLabel("Folder").fill(folder);
      await page.getByRole("button", { name: "Start" }).click();
      await page.getByRole("alert").filter({ hasText: "absolute path to an existing directory" }).waitFor();
      assert.equal(await page.getByLabel("Folder").inputValue(), folder);
    }
    await page.getByLabel("Folder").fill(server.work);
    await newSession(page);
    await close(page);
  });
});

describe("a prompt", () => {
  it("is answered as it comes, word by word", async () => {
    const page = await fresh();
    await say(page, "stream");
    await sees(page, "word word");
    await status(page, "running");
    const early = (await transcript(page).innerText()).length;
    await page.locator(".words strong", { hasText: "That was all." }).waitFor();
    assert.ok((await transcript(page).innerText()).length > early);
    await status(page, "idle");
    assert.equal(await page.locator(".thought .fold-body").count(), 0);
    await page.getByRole("button", { name: /^Thought/ }).click();
    await sees(page, "Many words are wanted.");
    assert.equal(await page.locator(".sessions .session[aria-current]").count(), 1);
    await close(page);
  });

  it("is stopped with Escape and with the button, and the next one runs", async () => {
    const page = await fresh();
    await say(page, "slow");
    await sees(page, "working");
    await box(page).press("Escape");
    await sees(page, "working, no longer");
    await status(page, "idle");
    await say(page, "slow again");
    await status(page, "running");
    await page.getByRole("button", { name: "Stop" }).click();
    await status(page, "idle");
    await say(page, "hello");
    await sees(page, "You said something.");
    await close(page);
  });

  it("waits its turn while another runs, and can be taken back", async () => {
    const page = await fresh();
    await say(page, "slow");
    await sees(page, "working");
    await say(page, "hello, the first in the queue");
    await say(page, "the second in the queue");
    const second = page.locator(".said.is-pending", { hasText: "the second" });
    await second.getByRole("button", { name: "Take back" }).click();
    await second.waitFor({ state: "detached" });
    await page.locator(".said.is-pending", { hasText: "the first" }).waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await sees(page, "You said something.");
    assert.equal(await page.locator(".said.is-pending").count(), 0);
    await close(page);
  });

  it("that steers reaches the agent while it runs", async () => {
    const page = await fresh();
    await say(page, "stay");
    await sees(page, "Ready.");
    await box(page).fill("turn left");
    await page.getByRole("button", { name: "Steer now" }).click();
    await sees(page, "message: turn left");
    await box(page).fill("turn right");
    await box(page).press("Control+Enter");
    await sees(page, "message: turn right");
    await page.locator(".said .tag", { hasText: "steer" }).first().waitFor();
    await box(page).press("Escape");
    await status(page, "idle");
    await close(page);
  });

  it("that fails says why, and the next one runs", async () => {
    const page = await fresh();
    await say(page, "fail");
    await page.locator(".banner.failed", { hasText: "the scenario said so" }).waitFor();
    await say(page, "hello");
    await sees(page, "You said something.");
    await page.locator(".banner.failed").waitFor({ state: "detached" });
    await close(page);
  });

  it("may have something made, of which the fallback is shown", async () => {
    const page = await fresh();
    await say(page, "chart");
    await sees(page, "There it is.");
    const note = page.locator(".note.is-artifact");
    assert.equal((await note.innerText()).replace(/\s*\n\s*/g, "|"), "Made Latency|p50 12 ms|p99 80 ms");
    await close(page);
  });

  it("may be a command of the menu", async () => {
    const page = await fresh();
    await box(page).pressSequentially("/");
    await page.getByRole("option").nth(2).waitFor();
    await box(page).pressSequentially("sl");
    await page.getByRole("option", { name: /slow/ }).waitFor();
    await box(page).press("Enter");
    assert.equal(await box(page).inputValue(), "/slow ");
    await box(page).press("Enter");
    await sees(page, "working");
    await box(page).press("Escape");
    await close(page);
  });
});

describe("what survives", () => {
  it("a reload in the middle of a turn: the words, the draft and the name", async () => {
    const page = await fresh();
    await say(page, "slow");
    await sees(page, "working");
    await box(page).fill("not sent yet");
    const name = await page.evaluate(() => sessionStorage.getItem("harn.client"));
    await page.reload();
    await sees(page, "working");
    await status(page, "running");
    assert.equal(await box(page).inputValue(), "not sent yet");
    assert.equal(await page.evaluate(() => sessionStorage.getItem("harn.client")), name);
    // Under the same name it still controls the session.
    await page.getByRole("button", { name: "Stop" }).click();
    await sees(page, "working, no longer");
    await close(page);
  });

  it("who said it: what a person sent from the page is theirs after a reload, in a new tab, after a restart and in another browser", async () => {
    const page = await fresh();
    const said = async (from) => {
      await sees(from, "You said something.");
      return from.locator(".said .who strong").allInnerTexts();
    };
    await say(page, "hello");
    assert.deepEqual(await said(page), ["You"]);
    await page.reload();
    assert.deepEqual(await said(page), ["You"]);
    const tab = await otherTab(page);
    assert.deepEqual(await said(tab), ["You"]);
    const address = page.url();
    await close(page);
    await server.stop({ keep: true });
    await server.run();
    await tab.goto("about:blank");
    await tab.goto(address);
    assert.deepEqual(await said(tab), ["You"]);
    const other = await again(browser, server, {}, address);
    assert.deepEqual(await said(other), ["You"]);
    await close(other);
    await close(tab);
  });

  it("a server that dies in the middle of a turn: the banner, the draft, and the truth about the turn", async () => {
    const page = await fresh();
    await say(page, "crash");
    await sees(page, "before the end");
    await server.kill();
    await page.locator(".banner.away").waitFor();
    await box(page).fill("kept while away");
    await box(page).press("Enter");
    await page.getByRole("alert").filter({ hasText: "Not sent" }).waitFor();
    assert.equal(await box(page).inputValue(), "kept while away");
    await server.run();
    await page.locator(".banner.away").waitFor({ state: "detached" });
    await sees(page, "before the end");
    await page.locator(".answer.is-error").waitFor();
    assert.equal(await box(page).inputValue(), "kept while away");
    await box(page).press("Enter");
    await sees(page, "You said something.");
    await close(page);
  });
});
