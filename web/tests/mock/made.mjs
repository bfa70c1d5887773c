// Owns the made-up session of the bench: the requested number of messages, in the shapes that an agent sends.

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
