// Owns signing in and out: the code of the printed address, a token, and the check who is signed in.

export type Who =
  | { kind: "in"; principal: string }
  | { kind: "out"; why: string }
  | { kind: "unreachable" };

const here = (path: string) => new URL(path, document.baseURI).href;

export async function whoAmI(): Promise<Who> {
  try {
    const response = await fetch(here("login"), { headers: { accept: "application/json" }, cache: "no-store" });
    if (response.status === 401) return { kind: "out", why: "" };
    if (!response.ok) return { kind: "unreachable" };
    const body = (await response.json()) as { principal?: unknown };
    return { kind: "in", principal: typeof body.principal === "string" ? body.principal : "" };
  } catch {
    return { kind: "unreachable" };
  }
}

/** Null when signed in, else the reason in words. */
export async function signIn(proof: { code: string } | { token: string }): Promise<string | null> {
  try {
    const response = await fetch(here("login"), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(proof),
    });
    if (response.ok) return null;
    const body = (await response.json().catch(() => ({}))) as { error?: unknown };
    if (typeof body.error === "string") return body.error;
    return `The server answered ${response.status}.`;
  } catch {
    return "The server cannot be reached.";
  }
}

export async function signOut(): Promise<void> {
  await fetch(here("logout"), { method: "POST" }).catch(() => undefined);
}

/** Removes a one-time code from the address, so that it is neither visible nor stored in the history. */
export function takeCode(): string | null {
  const match = /^#code=([^&]+)/.exec(location.hash);
  if (!match) return null;
  history.replaceState(null, "", location.pathname + location.search);
  try {
    return decodeURIComponent(match[1]!);
  } catch {
    return match[1]!;
  }
}
