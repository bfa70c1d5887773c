// Owns the sign-in form, for users without a cookie and without a fresh code.
import { useState } from "preact/hooks";
import type { App } from "../app.js";

export function SignIn({ app, why }: { app: App; why: string }) {
  const [token, setToken] = useState("");
  const [refused, setRefused] = useState(why);
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (token.trim() === "") return;
    setBusy(true);
    setRefused((await app.enter(token.trim())) ?? "");
    setBusy(false);
  };
  return (
    <main class="signin">
      <form class="card" onSubmit={(event) => void submit(event)}>
        <h1>Sign in</h1>
        <p class="muted">Open the address that the server printed when it started, or paste a token.</p>
        <label>
          <span>Token</span>
          <input type="password" autoComplete="off" autoFocus spellcheck={false} value={token} onInput={(event) => setToken(event.currentTarget.value)} />
        </label>
        <p class="tool-error" role="alert">{refused}</p>
        <button type="submit" class="primary wide" disabled={busy || token.trim() === ""}>{busy ? "Asking…" : "Sign in"}</button>
      </form>
    </main>
  );
}
