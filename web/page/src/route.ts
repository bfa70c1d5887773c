// Owns the address: which session and tab the part after # names.

export type Tab = "talk" | "timeline";
export type Route = { session: string | null; tab: Tab };

export function parseRoute(hash: string): Route {
  const match = /^#\/s\/([^/]+)(?:\/(timeline))?$/.exec(hash);
  if (!match) return { session: null, tab: "talk" };
  try {
    return { session: decodeURIComponent(match[1]!), tab: match[2] === "timeline" ? "timeline" : "talk" };
  } catch {
    return { session: null, tab: "talk" };
  }
}

export function formatRoute({ session, tab }: Route): string {
  if (session === null) return "#/";
  return `#/s/${encodeURIComponent(session)}${tab === "timeline" ? "/timeline" : ""}`;
}
