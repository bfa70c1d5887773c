// Owns the browser of these tests: Debian's Chromium, only the loopback network, and pages without console errors.
import { chromium } from "playwright-core";

const ARGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];

export const launch = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ARGS });

/** A page in a context of its own. `complaints` collects the browser's errors; a test expects none. */
export async function openPage(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  return watched(await context.newPage());
}

export function watched(page) {
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("console", (message) => {
    // The browser itself reports a rejected socket or request; the page cannot prevent it.
    if (message.type() === "error" && !/WebSocket connection|Failed to load resource/.test(message.text())) complaints.push(message.text());
  });
  page.on("request", (request) => {
    const { hostname, protocol } = new URL(request.url());
    if (protocol !== "data:" && hostname !== "127.0.0.1") complaints.push(`request to ${request.url()}`);
  });
  return Object.assign(page, { complaints });
}
