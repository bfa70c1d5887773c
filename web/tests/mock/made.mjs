// Made-up sessions: one with a bit of everything, and one with many messages.

const START = Date.UTC(2026, 0, 5, 9, 30);

const base = () => ({
  status: "idle",
  messages: [],
  session: {
    id: "mock-1", title: "The leaking bucket", cwd: "/home/ada/limiter", agent: "harn", createdAt: START, mode: "ask",
    modes: [{ id: "ask", name: "Ask", description: "Asks before it changes anything" }, { id: "auto", name: "Auto", description: "Does what the rules allow" }],
    options: [{ id: "speed", name: "Speed", description: "How fast to go", value: "slow", choices: [{ value: "slow", name: "Slow" }, { value: "fast", name: "Fast" }] }],
    commands: [{ name: "review", description: "Look at the last change", hint: "what to look at" }, { name: "plan", description: "Plan first", hint: null }],
  },
  plan: [], workers: [], skills: [], usage: null, approvals: [], questions: [], clients: [], controller: null,
});

export const user = (id, content, at, more = {}) => ({ id, role: "user", content, status: "complete", at, thought: "", notes: [], steer: false, author: null, ...more });
export const answer = (id, content, at, more = {}) => ({ id, role: "assistant", content, status: "complete", at, thought: "", notes: [], toolCalls: [], ...more });
export const call = (id, more = {}) => ({
  id, name: "read_file", status: "complete", title: "Read src/limit.rs", kind: "read", at: START, durationMs: 12, locations: [], input: null,
  output: "", cut: false, diffs: [], error: null, approval: null, ...more,
});

const diff = {
  path: "/home/ada/limiter/src/limit.rs",
  oldText: "impl Bucket {\n    fn refill(&mut self) {\n        self.tokens += 1;\n    }\n\n    fn take(&mut self) -> bool {\n        self.tokens > 0\n    }\n}\n",
  newText: "impl Bucket {\n    fn refill(&mut self, elapsed: Duration) {\n        let earned = elapsed.as_secs_f64() * self.rate;\n        self.tokens = (self.tokens + earned).min(self.cap);\n    }\n\n    fn take(&mut self) -> bool {\n        self.tokens >= 1.0\n    }\n}\n",
};

export function fresh() {
  const now = Date.now();
  return {
    ...base(),
    status: "running",
    messages: [
      user("u1", "The rate limiter lets bursts through that are far too large. Find out why, and mend it.", now - 180_000, { author: "ada" }),
      answer("a1", "I will look at how the bucket is refilled, then at the tests.", now - 175_000, {
        thought: "The bucket must be refilled by calls and not by time. Look at limit.rs first.",
        notes: [{ kind: "skill", text: "rust-review is active", at: now - 174_000 }],
        toolCalls: [
          call("c1", { at: now - 173_000, locations: [{ path: "/home/ada/limiter/src/limit.rs", line: 12 }], input: { path: "src/limit.rs" }, output: "impl Bucket {\n…\n}\n" }),
          call("c2", { at: now - 172_000, title: "Search for “refill(”", kind: "search", name: "grep", durationMs: 48, input: { pattern: "refill\\(" }, output: "src/limit.rs:14\nsrc/lib.rs:40\n" }),
        ],
      }),
      answer("a2", "Found it. `refill` adds **one token for each call**, whatever the time that has passed:\n\n| call | tokens | expected |\n|---|--:|--:|\n| 1 | 1 | 1 |\n| 500 | 500 | 10 |\n\n```rust\nself.tokens += 1;\n```\n\nTwo things follow:\n\n1. The bucket has no upper bound.\n2. The refill must go by the clock.\n\nSee [token buckets](https://example.org/token-bucket) for the idea.", now - 160_000, {
        toolCalls: [call("c3", { at: now - 158_000, title: "Edit src/limit.rs", kind: "edit", name: "edit_file", durationMs: 31, diffs: [diff], locations: [{ path: diff.path, line: 3 }], approval: "approved" })],
        notes: [{ kind: "permission", text: "allowed by ada, this once", at: now - 158_500 }],
      }),
      user("u2", "Look at the tests as well.", now - 90_000, { author: "ada", steer: true }),
      answer("a3", "The tests first, then.", now - 60_000, {
        status: "streaming",
        toolCalls: [call("c4", { at: now - 8_000, title: "cargo test limit", kind: "execute", name: "run_command", status: "running", durationMs: null, input: { command: "cargo test limit" }, approval: "pending" })],
      }),
      user("u3", "When it is done, write a line into the changelog.", now - 20_000, { author: "ada", status: "pending" }),
    ],
    plan: [
      { content: "Find the leak", status: "completed", priority: "high" },
      { content: "Refill by the clock", status: "completed", priority: "medium" },
      { content: "Run the tests", status: "in_progress", priority: "medium" },
      { content: "Say what changed", status: "pending", priority: "low" },
    ],
    workers: [
      { id: "w1", name: "tester", task: "Run the tests and say what fails", mode: "sub_agent", status: "running", sessionId: "mock-2", startedAt: null, finishedAt: null, error: null },
      { id: "w2", name: "scout", task: "Look for other buckets", mode: "sub_agent", status: "completed", sessionId: null, startedAt: "1764576000", finishedAt: "1764576009", error: null },
    ],
    skills: ["rust-review", "changelog"],
    usage: { used: 48_200, size: 200_000, cost: { amount: 0.1375, currency: "USD" } },
    approvals: [
      {
        id: "p1", toolCallId: "c4", name: "run_command", title: "Run the tests", kind: "execute", input: { command: "cargo test limit -- --nocapture" },
        command: "cargo test limit -- --nocapture && rm -rf \u202e/tmp/limit-*", locations: [], diffs: [], output: "", reason: "The change is not proven yet.",
        risks: ["It deletes files"], paths: ["/home/ada/limiter", "/tmp"], requestedAt: now - 8_000, deadline: now + 292_000, worker: "tester",
        options: [
          { id: "allow-once", name: "Allow", kind: "allow_once", scope: "once" },
          { id: "allow-session", name: "Always allow", kind: "allow_always", scope: "session" },
          { id: "reject-once", name: "Reject", kind: "reject_once", scope: "once" },
        ],
      },
    ],
    clients: [{ id: "ada", mode: "observer", attachedAt: "1764576000", lastSeenAt: "1764576000" }],
  };
}

export function longSession(count) {
  const messages = [];
  for (let i = 0; i < count; i++) {
    const at = START + i * 1_000;
    if (i % 4 === 0) messages.push(user(`u${i}`, `Prompt number ${i}: look at file ${i}.rs and say what is in it.`, at));
    else {
      messages.push(
        answer(`a${i}`, `Step ${i}. The file has **${i % 90} lines**, and \`fn part_${i}()\` is the one that matters.\n\n- first point of ${i}\n- second point\n\n\`\`\`rust\nfn part_${i}() -> usize { ${i} }\n\`\`\`\n`, at, {
          toolCalls: i % 2 ? [call(`c${i}`, { at, title: `Read src/part_${i}.rs`, input: { path: `src/part_${i}.rs` }, output: "fn main() {}\n".repeat(8) })] : [],
        }),
      );
    }
  }
  return { ...base(), messages };
}

export const rows = () =>
  ["Tidy the docs", "Why is the build slow", "Port the parser"].map((title, at) => ({
    id: `other-${at}`, title, cwd: `/home/ada/${["docs", "site", "parser"][at]}`, createdAt: START, updatedAt: Date.now() - (at + 1) * 5_400_000,
    status: ["waiting", "running", "closed"][at], controller: null, clients: at,
  }));
