// Owns the page without a session: the start of a new one.
import { useState } from "preact/hooks";
import type { App } from "../app.js";
import { count } from "../text/say.js";
import { useTopics } from "./hooks.js";
import { Shown } from "./shown.js";

export function Home({ app }: { app: App }) {
  useTopics(app.sessions.doc, "sessions");
  useTopics(app, "unmade");
  const [cwd, setCwd] = useState(app.folder);
  const rows = app.sessions.state?.sessions ?? [];
  const folders = [...new Set(rows.map((row) => row.cwd))].slice(0, 20);
  const write = (folder: string) => {
    app.folder = folder;
    setCwd(folder);
  };
  const submit = (event: Event) => {
    event.preventDefault();
    app.newSession();
  };
  return (
    <div class="home">
      <form class="card" onSubmit={submit}>
        <h2>New session</h2>
        <label>
          <span>Folder</span>
          <input value={cwd} list="folders" placeholder="the server's own" spellcheck={false} aria-describedby="unmade" onInput={(event) => write(event.currentTarget.value)} />
          <datalist id="folders">{folders.map((folder) => <option key={folder} value={folder} />)}</datalist>
        </label>
        <p class="tool-error" id="unmade" role="alert">{app.unmade !== "" && <Shown text={app.unmade} as="line" />}</p>
        <button type="submit" class="primary wide">Start</button>
      </form>
      {rows.length > 0 && (
        <p class="muted">
          Or go on with one of {count(rows.length, "session")}.{" "}
          <button type="button" class="only-narrow small" onClick={() => app.setDrawer("sessions")}>Show them</button>
        </p>
      )}
    </div>
  );
}
