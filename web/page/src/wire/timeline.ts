// Owns the rows of the timeline: fetched a page at a time; their end is fetched again when the session continues.
import { Topics } from "./doc.js";
import type { TimelinePage, TimelineRow } from "./types.js";

const PAGE = 1_000;
/** The number of pages that load automatically; the user requests the rest. */
const PAGES = 20;

export class TimelineRows extends Topics {
  rows: TimelineRow[] = [];
  error: string | null = null;
  loading = false;
  /** The position of the next rows that are not fetched yet. */
  next: number | null = null;
  #last = 0;
  #run = 0;
  #again = false;

  constructor(readonly session: string) {
    super();
  }

  /** Starts again, with only the rows that contain the text. */
  async search(q: string): Promise<void> {
    const run = ++this.#run;
    this.rows = [];
    this.#last = 0;
    await this.#pages(run, 0, q, PAGES);
  }

  async more(q: string): Promise<void> {
    if (this.next !== null) await this.#pages(this.#run, this.next, q, PAGES);
  }

  /** Fetches the new rows. The last row may have grown, so it is fetched again. */
  async refresh(q: string): Promise<void> {
    if (this.loading || this.next !== null) {
      this.#again = true;
      return;
    }
    const last = this.rows.at(-1);
    await this.#pages(this.#run, last && q === "" ? last.seq - 1 : this.#last, q, PAGES);
  }

  async #pages(run: number, after: number, q: string, most: number): Promise<void> {
    this.loading = true;
    this.#again = false;
    this.touch("rows");
    try {
      let at: number | null = after;
      for (let page = 0; at !== null && page < most; page++) {
        const got: TimelinePage = await fetchPage(this.session, at, q);
        if (run !== this.#run) return;
        this.#add(got.rows);
        this.#last = got.last;
        at = got.next;
        this.next = at;
        this.touch("rows");
      }
      this.error = null;
    } catch (error) {
      if (run !== this.#run) return;
      this.error = error instanceof Error ? error.message : String(error);
    }
    this.loading = false;
    this.touch("rows");
    if (this.#again && this.next === null) await this.refresh(q);
  }

  #add(rows: TimelineRow[]): void {
    const first = rows[0];
    if (first === undefined) return;
    let keep = this.rows.length;
    while (keep > 0 && this.rows[keep - 1]!.seq >= first.seq) keep--;
    this.rows.length = keep;
    for (const row of rows) this.rows.push(row);
  }
}

async function fetchPage(session: string, after: number, q: string): Promise<TimelinePage> {
  const url = new URL("state/timeline", document.baseURI);
  url.searchParams.set("session", session);
  url.searchParams.set("after", String(after));
  url.searchParams.set("limit", String(PAGE));
  if (q !== "") url.searchParams.set("q", q);
  const response = await fetch(url);
  if (!response.ok) throw new Error(`The timeline cannot be had: the server answered ${response.status}.`);
  return (await response.json()) as TimelinePage;
}
