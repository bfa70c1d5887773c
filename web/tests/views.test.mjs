// Other views: two people on one session, workers, the timeline, a phone, and both colours.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { launch } from "./browser.mjs";
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

describe("two tabs", () => {
  it("see the same, and only one drives until the other takes over", async () => {
    const one = await fresh();
    await say(one, "slow");
    await sees(one, "working");
    const two = await otherTab(one);
    await sees(two, "working");
    const name = await one.evaluate(() => sessionStorage.getItem("harn.client"));
    await two.getByText(`${name} controls this session. You can watch, or take over.`).waitFor();
    assert.equal(await box(two).getAttribute("readonly"), "");
    assert.equal(await two.getByRole("button", { name: "Stop" }).count(), 0);
    await two.locator(".prompt").getByRole("button", { name: "Take over" }).click();
    await two.getByRole("button", { name: "Stop" }).waitFor();
    await one.locator(".prompt").getByRole("button", { name: "Take over" }).waitFor();
    await two.getByRole("button", { name: "Stop" }).click();
    await sees(one, "working, no longer");
    await two.getByRole("button", { name: "Hand back" }).click();
    await two.getByRole("button", { name: "Hand back" }).waitFor({ state: "detached" });
    await close(two);
    await close(one);
  });

  it("both have a name of their own, even when one was duplicated", async () => {
    const one = await fresh();
    const name = await one.evaluate(() => sessionStorage.getItem("harn.client"));
    const two = await otherTab(one, "about:blank");
    await two.addInitScript((copied) => {
      if (sessionStorage.getItem("harn.client") === null) sessionStorage.setItem("harn.client", copied);
    }, name);
    await two.goto(one.url());
    await two.waitForFunction((copied) => sessionStorage.getItem("harn.client") !== copied, name);
    await two.getByText(`${name} controls this session.`).first().waitFor();
    await close(two);
    await close(one);
  });
});

describe("details", () => {
  it("show the plan, the usage and the workers, and a worker's own session when it is unfolded", async () => {
    const page = await fresh();
    const details = page.getByRole("complementary", { name: "Details" });
    await details.getByText("Not known").waitFor();
    await say(page, "work");
    await sees(page, "Somebody else worked.");
    await details.getByText("Mend it").waitFor();
    await details.getByText("12k of 200k tokens").waitFor();
    await details.getByText("Cost not known").waitFor();
    await details.getByRole("button", { name: /^lead/ }).click();
    await details.getByText("The lead is at it.").waitFor();
    await details.getByRole("button", { name: /^writer/ }).click();
    await details.getByText("The writer has written.").waitFor();
    await details.getByRole("button", { name: /^lead/ }).click();
    await details.getByText("The writer has written.").waitFor({ state: "detached" });
    await close(page);
  });

  it("change the mode and the options", async () => {
    const page = await fresh();
    const speed = page.getByLabel("Speed");
    await speed.selectOption("fast");
    await page.waitForFunction(() => [...document.querySelectorAll("select")].some((select) => select.value === "fast"));
    await page.reload();
    await page.waitForFunction(() => [...document.querySelectorAll("select")].some((select) => select.value === "fast"));
    await close(page);
  });
});

describe("the timeline", () => {
  it("shows what happened, finds words, grows, and leads to the message", async () => {
    const page = await fresh();
    await say(page, "hello there");
    await sees(page, "You said something.");
    await page.getByRole("button", { name: "Timeline" }).click();
    await page.waitForURL(/\/timeline$/);
    const rows = page.getByRole("log", { name: "Timeline" });
    await rows.locator(".event.is-prompt", { hasText: "hello there" }).waitFor();
    await say(page, "and once more");
    await rows.locator(".event.is-prompt", { hasText: "and once more" }).waitFor();
    await page.getByLabel("Kind", { exact: true }).selectOption("prompt");
    assert.equal(await rows.locator(".event:not(.is-prompt)").count(), 0);
    await page.getByLabel("Search the timeline").fill("once more");
    await page.waitForFunction(() => document.querySelectorAll(".event").length === 1);
    await rows.locator(".event").click();
    await sees(page, "and once more");
    await close(page);
  });
});

describe("the list of sessions", () => {
  it("is live and can be filtered", async () => {
    const page = await fresh();
    const other = await fresh();
    const id = decodeURIComponent(/#\/s\/([^/]+)/.exec(other.url())[1]);
    const row = page.locator(`.session[href="#/s/${encodeURIComponent(id)}"]`);
    await say(other, "slow");
    await row.and(page.locator(".is-running")).waitFor();
    await say(other, "");
    await page.getByLabel("Filter sessions").fill(id);
    await page.waitForFunction(() => document.querySelectorAll(".session").length === 1);
    await row.click();
    await sees(page, "working");
    await other.getByRole("button", { name: "Stop" }).click();
    await row.and(page.locator(".is-idle")).waitFor();
    await close(other);
    await close(page);
  });

  it("shows a red dot where the last run failed, and a green one when the next has gone well", async () => {
    const page = await fresh();
    const row = page.locator(".session[aria-current]");
    const dot = () => row.locator(".dot").evaluate((element) => getComputedStyle(element).backgroundColor);
    const channels = async () => /rgb\((\d+), (\d+)/.exec(await dot()).slice(1).map(Number);
    await say(page, "fail");
    await row.and(page.locator(".is-error")).waitFor();
    const [red, green] = await channels();
    assert.ok(red > 2 * green, await dot());
    await row.getByText("failed").first().waitFor();
    await say(page, "hello");
    await row.and(page.locator(".is-idle")).waitFor();
    const [lessRed, moreGreen] = await channels();
    assert.ok(moreGreen > lessRed, await dot());
    await close(page);
  });

  it("keeps the red dot of a failed session when the server starts again, which closes it", async () => {
    const page = await fresh();
    await say(page, "fail");
    await page.locator(".session[aria-current].is-error").waitFor();
    const link = await page.locator(".session[aria-current]").getAttribute("href");
    await close(page);
    await server.stop({ keep: true });
    await server.run();
    const other = await again(browser, server);
    const row = other.locator(`.session[href="${link}"]`);
    await row.and(other.locator(".is-error")).getByText("failed").first().waitFor();
    const dot = await row.locator(".dot").evaluate((element) => getComputedStyle(element).backgroundColor);
    const [red, green] = /rgb\((\d+), (\d+)/.exec(dot).slice(1).map(Number);
    assert.ok(red > 2 * green, dot);
    await close(other);
  });

  it("says so when a session does not exist", async () => {
    const page = await again(browser, server, {}, `${server.origin}#/s/nosuch`);
    await page.locator(".banner.failed", { hasText: "unknown session" }).waitFor();
    await close(page);
  });
});

describe("a phone", () => {
  it("shows everything within 360 pixels, with the lists in drawers", async () => {
    const page = await fresh({ viewport: { width: 360, height: 700 }, hasTouch: true, isMobile: true });
    await say(page, "note");
    await page.locator(".card.approval").waitFor();
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
    for (const button of await page.locator(".answer-button").all()) {
      const place = await button.boundingBox();
      assert.ok(place.x >= 0 && place.x + place.width <= 360 && place.height >= 40, JSON.stringify(place));
    }
    await page.locator(".answer-button.reject").first().tap();
    await sees(page, "Then I leave it.");
    await page.getByRole("button", { name: "Details" }).tap();
    await page.getByRole("heading", { name: "Plan" }).waitFor();
    await page.getByRole("button", { name: "Close" }).tap({ position: { x: 5, y: 300 } });
    await page.getByRole("button", { name: "Sessions" }).tap();
    await page.getByLabel("Filter sessions").waitFor();
    await close(page);
  });
});

describe("colours", () => {
  const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = (color) => Number(/\d+/.exec(color)[0]) > 128;
  it("follow the system, and the reader", async () => {
    const page = await again(browser, server, { colorScheme: "dark" });
    const button = page.getByRole("button", { name: /^Theme/ });
    await button.waitFor();
    assert.equal(light(await background(page)), false);
    await button.click();
    assert.equal(light(await background(page)), true);
    await page.reload();
    await button.waitFor();
    assert.equal(light(await background(page)), true);
    await page.emulateMedia({ colorScheme: "light" });
    await button.click();
    assert.equal(light(await background(page)), false);
    await close(page);
  });
});

describe("a long session", () => {
  it("follows its end, lets one read above it, and comes back", async () => {
    const page = await fresh({ viewport: { width: 1280, height: 420 } });
    for (let turn = 0; turn < 6; turn++) {
      await say(page, `hello ${turn}`);
      await transcript(page).locator(".said", { hasText: `hello ${turn}` }).waitFor();
      await status(page, "idle");
    }
    await say(page, "stream");
    await sees(page, "word");
    await transcript(page).hover();
    await page.mouse.wheel(0, -300);
    const jump = page.getByRole("button", { name: "Jump to latest" });
    await jump.waitFor();
    const top = () => transcript(page).evaluate((list) => list.scrollTop);
    const left = await top();
    await status(page, "idle");
    assert.equal(await top(), left);
    await jump.click();
    await page.locator(".words strong", { hasText: "That was all." }).waitFor();
    await jump.waitFor({ state: "detached" });
    await close(page);
  });

  const talkedMuch = async () => {
    const page = await fresh({ viewport: { width: 1280, height: 420 } });
    for (let turn = 0; turn < 9; turn++) {
      await say(page, `hello ${turn}`);
      await transcript(page).locator(".said", { hasText: `hello ${turn}` }).waitFor();
      await status(page, "idle");
    }
    return page;
  };
  const isAtEnd = () => {
    const list = document.querySelector(".transcript .list");
    return list.scrollHeight > list.clientHeight + 50 && list.scrollHeight - list.scrollTop - list.clientHeight <= 8;
  };

  it("goes to its end when one sends something", async () => {
    const page = await talkedMuch();
    await transcript(page).hover();
    await page.mouse.wheel(0, -300);
    const jump = page.getByRole("button", { name: "Jump to latest" });
    await jump.waitFor();
    await say(page, "hello from above");
    await jump.waitFor({ state: "detached" });
    await page.locator(".said", { hasText: "hello from above" }).waitFor();
    await page.waitForFunction(isAtEnd);
    await close(page);
  });

  it("follows its end through every change of size while a permission is asked for", async () => {
    const page = await talkedMuch();
    await say(page, "note");
    await page.locator(".card.approval").waitFor();
    for (const [width, height] of [[1280, 800], [1280, 560], [600, 900], [1000, 620], [375, 700], [1280, 700]]) {
      await page.setViewportSize({ width, height });
      await page.waitForFunction(isAtEnd);
      assert.equal(await page.getByRole("button", { name: "Jump to latest" }).count(), 0);
    }
    await page.locator(".answer-button.reject").first().click();
    await sees(page, "Then I leave it.");
    await say(page, "stream");
    await page.locator(".words strong", { hasText: "That was all." }).waitFor();
    await page.waitForFunction(isAtEnd);
    await close(page);
  });
});
