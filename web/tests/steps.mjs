// Owns the steps that the tests share: signing in, a new session, a prompt, and the visible text.
import assert from "node:assert/strict";
import { openPage, watched } from "./browser.mjs";

/** A browser that is signed in, at the start page. */
export async function signedIn(browser, server, options = {}) {
  const page = await openPage(browser, options);
  await page.goto(server.url);
  // The form appears before the answer to the code arrives.
  await page.locator('[title="Signed in as"]', { hasText: /\w/ }).waitFor({ state: "attached" });
  // A code works once; the next browser gets in with the cookie of the first.
  await page.getByRole("heading", { name: "New session" }).waitFor();
  server.cookies = await page.context().cookies();
  return page;
}

/** Another browser of the same person: a context with the cookie, so that no code is needed. */
export async function again(browser, server, options = {}, address = server.origin) {
  const page = await openPage(browser, options);
  await page.context().addCookies(server.cookies);
  await page.goto(address);
  return page;
}

/** Another tab of the same browser. */
export async function otherTab(page, address = page.url()) {
  const tab = watched(await page.context().newPage());
  await tab.goto(address);
  return tab;
}

export async function newSession(page) {
  if (!/#\/?$|\/$/.test(page.url())) await page.getByRole("link", { name: "New session" }).click();
  await page.getByRole("button", { name: "Start" }).click();
  await page.waitForURL(/#\/s\//);
  // The box of the session, and not that of the form before it.
  await page.locator(".prompt textarea").waitFor();
}

export const box = (page) => page.getByRole("textbox", { name: "Prompt" });
export const status = (page, word) => page.locator(".top .status", { hasText: word }).waitFor();
export const transcript = (page) => page.getByRole("log", { name: "Conversation" });

export async function say(page, text) {
  await box(page).fill(text);
  await box(page).press("Enter");
}

/** Waits until the transcript shows the text. */
export const sees = (page, text) => transcript(page).getByText(text).last().waitFor();

/** Ends a test: the browser must have reported no errors, and no hostile text may have run. */
export async function close(page) {
  assert.deepEqual(page.complaints, []);
  assert.equal(await page.evaluate(() => window.owned), undefined);
  await page.close();
}
