// Measures three speed limits in a real browser: the first paint of a long session, scrolling, and a click while
// many updates arrive. Exits with 1 when a limit is exceeded.
import { WebSocket } from "ws";
import { launch, openPage } from "./browser.mjs";
import { answer, longSession, user } from "./mock/made.mjs";
import { start } from "./mock/server.mjs";
import { Server } from "./server.mjs";

const MESSAGES = 10_000;
const UPDATES = 2_000;
const SECONDS = 5;
const results = [];
const promise = (name, value, bar, unit = "ms") => results.push({ name, value: Math.round(value * 10) / 10, bar, unit, kept: value <= bar });
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const share = (values, part) => values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? 0;

/** Notes when the first message was painted, from the beginning of the navigation. */
const noteFirstSight = () => {
  const look = () => {
    if (document.querySelector(".transcript article")) requestAnimationFrame(() => (window.firstSight = performance.now()));
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
};

async function firstSight(browser, name, url, cookies, last) {
  const times = [];
  for (let round = 0; round < 5; round++) {
    const page = await openPage(browser);
    await page.context().addCookies(cookies);
    await page.addInitScript(noteFirstSight);
    await page.goto(url);
    times.push(await (await page.waitForFunction(() => window.firstSight)).jsonValue());
    if (round === 4) await last(page);
    await page.context().close();
  }
  promise(`first sight of ${MESSAGES.toLocaleString("en")} messages, ${name}, median of 5`, median(times), 1_000);
}

async function made(browser) {
  const server = await start(longSession(MESSAGES));
  await firstSight(browser, "made up", server.url, [], scrolling);
  await server.stop();
}

/** The same with the real server, if there is one: half as many prompts, and their answers. */
async function real(browser) {
  const server = await Server.start();
  const page = await openPage(browser);
  await page.goto(server.url);
  await page.getByRole("heading", { name: "New session" }).waitFor();
  const session = await fill(server, MESSAGES / 2);
  await firstSight(browser, "real server", `${server.origin}#/s/${session}`, await page.context().cookies(), async () => {});
  await server.stop();
}

async function fill(server, prompts) {
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}/ws`, ["harn.state.v1"], { headers: { authorization: `Bearer ${server.token}` } });
  let session = null;
  let left = prompts;
  await new Promise((done, failed) => {
    const next = () => (left-- > 0 ? socket.send(JSON.stringify({ type: "commands", commands: [{ type: "submit", prompt: `Prompt ${left}` }] })) : done());
    socket.on("message", (data) => {
      const frame = JSON.parse(String(data));
      if (frame.type === "error") failed(new Error(frame.message));
      if (frame.type === "state" && session === null) {
        session = frame.state.session.id;
        next();
      }
      if (frame.type === "delta" && frame.operations.findLast((op) => op.path[0] === "status")?.value === "idle") next();
    });
    socket.on("error", failed);
  });
  socket.close();
  return session;
}

async function scrolling(page) {
  const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
  await page.evaluate(() => {
    window.frames_ = [];
    let last = performance.now();
    const tick = (now) => {
      window.frames_.push(now - last);
      last = now;
      window.ticking = requestAnimationFrame(tick);
    };
    window.ticking = requestAnimationFrame(tick);
  });
  const box = await page.locator(".transcript .list").boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  for (let turn = 0; turn < 120; turn++) {
    await page.mouse.wheel(0, turn < 60 ? -400 : 300);
    await page.waitForTimeout(16);
  }
  const frames = await page.evaluate(() => {
    cancelAnimationFrame(window.ticking);
    return window.frames_.slice(5);
  });
  promise("a frame while scrolling, 95th percentile", share(frames, 0.95), 34);
  promise("elements in the page", nodes, 3_000, "");
}

async function rain(browser) {
  const made = longSession(200);
  const at = Date.now();
  made.status = "running";
  made.messages.push(user("go", "Go.", at), answer("rain", "", at + 1, { status: "streaming" }));
  const server = await start(made);
  const index = String(made.messages.length - 1);
  const page = await openPage(browser);
  await page.goto(server.url);
  await page.locator(".transcript article").first().waitFor();
  await page.evaluate(() => {
    window.clicks = [];
    addEventListener("click", (event) => {
      const sent = event.timeStamp;
      const handled = performance.now();
      // After the frame that shows the effect of the click.
      requestAnimationFrame(() => setTimeout(() => window.clicks.push({ handled: handled - sent, shown: performance.now() - sent })));
    });
  });
  // Sends exactly this many frames a second, a few every 5 ms, for a text that grows past 100 KB.
  let sent = 0;
  const began = Date.now();
  const timer = setInterval(() => {
    const due = Math.min(UPDATES * SECONDS, Math.floor(((Date.now() - began) / 1_000) * UPDATES));
    for (; sent < due; sent++) {
      const text = sent % 60 === 59 ? "\n\n" : `word ${sent} **and** more `;
      server.delta([{ type: "append-text", path: ["messages", index, "content"], value: text }]);
      made.messages.at(-1).content += text;
    }
  }, 5);
  const place = await page.getByRole("button", { name: /^Theme/ }).boundingBox();
  while (Date.now() - began < SECONDS * 1_000) {
    await page.mouse.click(place.x + place.width / 2, place.y + place.height / 2);
    await page.waitForTimeout(100);
  }
  clearInterval(timer);
  server.delta([{ type: "append-text", path: ["messages", index, "content"], value: "\n\nthe-very-end" }]);
  await page.getByText("the-very-end").waitFor();
  const clicks = await page.evaluate(() => window.clicks);
  promise(`a click is handled under ${UPDATES.toLocaleString("en")} updates a second, worst of ${clicks.length}`, Math.max(...clicks.map((click) => click.handled)), 100);
  promise("and what it did is shown, worst", Math.max(...clicks.map((click) => click.shown)), 200);
  promise("updates that were not sent", UPDATES * SECONDS * 0.95 - sent, 0, "");
  await page.context().close();
  await server.stop();
}

const browser = await launch();
await made(browser);
if (process.env.HARN_SERVE) await real(browser);
await rain(browser);
await browser.close();
for (const { name, value, bar, unit, kept } of results) console.log(`${kept ? "kept  " : "MISSED"}  ${name}: ${value} ${unit} (at most ${bar})`);
process.exitCode = results.every(({ kept }) => kept) ? 0 : 1;
