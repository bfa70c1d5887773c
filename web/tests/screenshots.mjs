// Writes the pictures of docs/images: the real page, the real server, a scenario.
import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { launch } from "./browser.mjs";
import { Server } from "./server.mjs";
import { again, newSession, say, sees, signedIn } from "./steps.mjs";

const to = (name) => fileURLToPath(new URL(`../../docs/images/${name}.png`, import.meta.url));
await mkdir(fileURLToPath(new URL("../../docs/images", import.meta.url)), { recursive: true });
const server = await Server.start(fileURLToPath(new URL("screens.yaml", import.meta.url)), "limiter");
const browser = await launch();
try {
  const wide = { viewport: { width: 1280, height: 840 }, colorScheme: "light" };
  const page = await signedIn(browser, server, wide);
  await newSession(page);
  await say(page, "The rate limiter lets bursts through that are far too large. Find out why, and mend it.");
  await page.locator(".card.approval").waitFor();
  await say(page, "When it is done, write a line into the changelog.");
  await page.locator(".said.is-pending").waitFor();
  await page.waitForTimeout(500);
  await page.screenshot({ path: to("approval") });

  const phone = await again(browser, server, { viewport: { width: 360, height: 740 }, colorScheme: "dark", isMobile: true, hasTouch: true, deviceScaleFactor: 2 }, page.url());
  await phone.locator(".card.approval").waitFor();
  await phone.locator(".prompt").getByRole("button", { name: "Take over" }).tap();
  await phone.getByRole("button", { name: "Stop" }).waitFor();
  await phone.waitForTimeout(500);
  await phone.screenshot({ path: to("phone-dark") });
  await phone.locator(".answer-button.reject").first().tap();
  await phone.locator(".card.approval").waitFor({ state: "detached" });
  await phone.getByRole("button", { name: "Stop" }).tap();
  await sees(phone, "Done.");
  await phone.close();

  // A client that leaves releases control.
  await page.getByRole("button", { name: "Send" }).waitFor();
  await page.getByRole("log", { name: "Conversation" }).evaluate((list) => list.scrollTo(0, 0));
  await page.waitForTimeout(400);
  await page.screenshot({ path: to("transcript") });
  await page.getByRole("button", { name: "Timeline" }).click();
  await page.locator(".event").first().waitFor();
  await page.waitForTimeout(400);
  await page.screenshot({ path: to("timeline") });
} finally {
  await browser.close();
  await server.stop();
}
