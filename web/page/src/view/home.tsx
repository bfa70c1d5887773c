// Owns the page without a session: the first prompt of a new one, the folder it works in, and examples.
import { useEffect, useRef, useState } from "preact/hooks";
import type { App } from "../app.js";
import { keyAct } from "../prompt.js";
import { count } from "../text/say.js";
import { readDraft, writeDraft } from "../wire/kept.js";
import { useTopics } from "./hooks.js";
import { Icon } from "./icons.js";
import { Shown } from "./shown.js";

export function Home({ app }: { app: App }) {
  useTopics(app.sessions.doc, "sessions", "cwd", "examples");
  useTopics(app, "unmade");
  const box = useRef<HTMLTextAreaElement>(null);
  const [text, setText] = useState(() => readDraft(null));
  const [folder, setFolder] = useState(app.folder);
  const { sessions: rows = [], cwd = "", examples = [] } = app.sessions.state ?? {};
  const folders = [...new Set(rows.map((row) => row.cwd))].slice(0, 20);
  // Focuses the box if there is a keyboard; on a phone, the keyboard would cover the page.
  useEffect(() => {
    if (document.activeElement === document.body && matchMedia("(hover: hover)").matches) box.current?.focus();
  }, []);
  const write = (value: string) => {
    setText(value);
    writeDraft(null, value);
  };
  const submit = (event: Event) => {
    event.preventDefault();
    app.newSession(text);
  };
  return (
    <div class="home">
      <form class="start" onSubmit={submit}>
        <h2>New session</h2>
        <div class="prompt-box">
          <div class="grow" data-text={text}>
            <textarea
              ref={box}
              rows={2}
              value={text}
              placeholder="What should the agent do?"
              aria-label="Prompt"
              onInput={(event) => write(event.currentTarget.value)}
              onKeyDown={(event) => {
                if (text.trim() !== "" && keyAct(event, { kind: "idle", submit: "Send" }, false) === "submit") submit(event);
              }}
            />
          </div>
          <div class="prompt-bar">
            <label class="folder">
              <span>Folder</span>
              <input
                value={folder ?? cwd}
                list="folders"
                placeholder="the server's folder"
                spellcheck={false}
                aria-describedby="unmade"
                onInput={(event) => setFolder((app.folder = event.currentTarget.value))}
              />
              <datalist id="folders">{folders.map((known) => <option key={known} value={known} />)}</datalist>
            </label>
            <div class="prompt-acts">
              <button type="submit" class="primary" title="Enter; Shift+Enter for a new line"><Icon name="up" /> Start</button>
            </div>
          </div>
        </div>
        <p class="tool-error" id="unmade" role="alert">{app.unmade !== "" && <Shown text={app.unmade} as="line" />}</p>
        <Examples
          examples={examples}
          onPick={(example) => {
            write(example);
            box.current?.focus();
          }}
        />
      </form>
      {rows.length > 0 && (
        <p class="muted">
          Or continue one of {count(rows.length, "session")}.{" "}
          <button type="button" class="only-narrow small" onClick={() => app.setDrawer("sessions")}>Show them</button>
        </p>
      )}
    </div>
  );
}

/** Example prompts: a click puts one into the box, where the user may edit it. */
export function Examples({ examples, onPick }: { examples: string[]; onPick: (example: string) => void }) {
  if (examples.length === 0) return null;
  return (
    <div class="examples" role="group" aria-label="Examples">
      {examples.map((example) => (
        <button type="button" key={example} onClick={() => onPick(example)}>
          <Shown text={example} as="line" />
        </button>
      ))}
    </div>
  );
}
