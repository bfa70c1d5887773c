//! Kills the binary with SIGKILL at random moments of a turn: 100 times, or 1,000 times with `HARN_SOAK=1`. Every line
//! that the client received is in the journal, the journal has no gap, and the next process settles the turn.

use std::path::PathBuf;

use crate::support_stress::{Dice, Process};
use anyhow::{Context, Result, ensure};
use harn_journal::{JsonlStore, Store};
use harn_model::{AgentEvent, ContentBlock, Envelope, SessionId, SessionView};
use harn_testkit::attack_count;
use serde_json::{Value, json};
use tempfile::TempDir;

const BLOCKS: usize = 220;
const WORDS: usize = 8;
/// The text of a replay for a turn that was interrupted.
const INTERRUPTED: &str = "The turn above was interrupted before it ended.";

#[tokio::test]
async fn killed_agent_leaves_no_gap_and_the_next_process_settles_the_turn() -> Result<()> {
    let mut dice = Dice::new();
    let place = Place::new(&mut dice)?;
    let mut tally = Tally::default();
    let rounds = attack_count();
    for round in 0..rounds {
        // Some processes are killed before they write a line.
        let lines = match round % 10 {
            0 => 0,
            _ => dice.below(place.story.len() + 1),
        };
        let survivor = round % 2 == 0;
        let context = || format!("round {round}, killed after {lines} lines");
        let done = place.kill_and_check(lines, survivor, &mut tally).await;
        done.with_context(context).unwrap();
    }
    // Otherwise the test proves nothing: turns must be cut with calls open, after the client received part of
    // them.
    assert!(tally.cut >= rounds / 2, "{tally:?}");
    assert!(tally.open_calls > 0 && tally.seen > rounds, "{tally:?}");
    // An agent that sent all lines before the kill proves nothing about writing.
    assert!(tally.midway >= rounds / 5, "{tally:?}");
    Ok(())
}

/// Counts over all rounds.
#[derive(Debug, Default)]
struct Tally {
    cut: usize,
    /// Killed with part of the story written, and part of it not.
    midway: usize,
    open_calls: usize,
    seen: usize,
}

/// A folder with a scenario, and the updates that the scenario produces.
struct Place {
    folder: TempDir,
    story: Vec<Shown>,
}

/// A session update or an event, reduced to the fields that both have.
type Shown = Value;

impl Place {
    fn new(dice: &mut Dice) -> Result<Self> {
        let (steps, story) = generate_steps(dice);
        let turns = json!([
            {"match": "^quick", "steps": [{"say": "done"}]},
            {"steps": steps},
        ]);
        let folder = TempDir::with_prefix("harn-kill9-")?;
        let scenario = json!({"name": "flood", "turns": turns}).to_string();
        std::fs::write(folder.path().join("flood.json"), scenario)?;
        Ok(Self { folder, story })
    }

    fn state_dir(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    async fn start(&self) -> Result<Process> {
        let scenario = self.folder.path().join("flood.json");
        Process::start(&scenario, &self.state_dir()).await
    }

    /// Kills an agent after this many lines of its turn, and checks the journal. With `survivor` this process
    /// opens the journal before the next agent does.
    async fn kill_and_check(&self, lines: usize, survivor: bool, tally: &mut Tally) -> Result<()> {
        let (session, seen) = self.kill_during_turn(lines).await?;
        let store = JsonlStore::new(self.state_dir());
        let id = SessionId::new(session.clone());

        let (_, left) = store.read(&id)?;
        ensure_gap_free(&left)?;
        let told: Vec<_> = left.iter().skip(1).filter_map(reduce_event).collect();
        ensure!(told == self.story[..told.len()], "the journal is no prefix");
        ensure!(told.len() >= seen.len(), "seen but not written");
        ensure!(seen == told[..seen.len()], "seen otherwise than written");
        tally.seen += seen.len();
        tally.midway += usize::from(!told.is_empty() && told.len() < self.story.len());

        let open = fold(&left).open_turn;
        let open_calls: Vec<_> = open.iter().flat_map(|turn| turn.calls.keys()).collect();
        tally.cut += usize::from(open.is_some());
        tally.open_calls += open_calls.len();
        if survivor {
            let opened = store.open(&id)?;
            ensure!(opened.view == fold(&left), "opening folds to another view");
        }

        let mut next = self.start().await?;
        let cwd = self.folder.path();
        let load = json!({"sessionId": session, "cwd": cwd, "mcpServers": []});
        let (replayed, _) = next.request("session/load", load).await?;
        let (_, mended) = store.read(&id)?;
        ensure_gap_free(&mended)?;
        ensure!(mended[..left.len()] == left, "recovery changed the past");
        ensure!(fold(&mended).open_turn.is_none(), "the turn is still open");
        let settlement: Vec<_> = mended[left.len()..]
            .iter()
            .filter_map(reduce_event)
            .collect();
        let mut expected: Vec<Shown> = open_calls
            .iter()
            .map(|call| json!(["tool_call_update", call, "failed"]))
            .collect();
        if open.is_some() {
            expected.push(json!(["agent_thought_chunk", INTERRUPTED]));
        }
        ensure!(settlement == expected, "settled with {settlement:?}");
        if let (Some(_), Some(Envelope { event, .. })) = (&open, mended.last()) {
            let AgentEvent::Recovered(recovered) = event else {
                anyhow::bail!("the journal ends with {event:?}");
            };
            ensure!(recovered.interrupted_calls.iter().eq(open_calls));
        }
        let replayed: Vec<_> = replayed.iter().map(reduce_update).collect();
        let whole: Vec<_> = mended.iter().filter_map(reduce_event).collect();
        ensure!(replayed == whole, "the replay is not the journal");

        let (_, stopped) = next
            .request("session/prompt", prompt(&session, "quick"))
            .await?;
        ensure!(stopped["stopReason"] == "end_turn", "{stopped}");
        next.end().await
    }

    /// Starts a turn that never ends by itself and kills its process. Returns the session and the updates of
    /// the turn that the client received.
    async fn kill_during_turn(&self, lines: usize) -> Result<(String, Vec<Shown>)> {
        let mut agent = self.start().await?;
        let new = json!({"cwd": self.folder.path(), "mcpServers": []});
        let (_, made) = agent.request("session/new", new).await?;
        let session = made["sessionId"].as_str().context("no session id")?;
        // The list of commands precedes the turn and is no part of it.
        let commands = agent.next_message().await?;
        ensure!(commands["params"]["update"]["sessionUpdate"] == "available_commands_update");
        agent.send("session/prompt", prompt(session, "go")).await?;
        agent.read_lines(lines).await?;
        let seen = agent.kill().await?;
        Ok((session.to_owned(), seen.iter().map(reduce_update).collect()))
    }
}

fn prompt(session: &str, text: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]})
}

/// Returns steps that emit thousands of events with overlapping tool calls, and the updates that they produce.
/// They end in a wait, so that the turn still runs when the agent is killed.
fn generate_steps(dice: &mut Dice) -> (Vec<Value>, Vec<Shown>) {
    let (mut steps, mut story) = (Vec::new(), Vec::new());
    let mut open: Vec<(usize, String)> = Vec::new();
    for block in 0..BLOCKS {
        let text = format!("{block}: ");
        story.push(json!(["agent_message_chunk", text]));
        steps.push(json!({"say": text}));
        story.extend(vec![json!(["agent_message_chunk", "word "]); WORDS]);
        steps.push(json!({"repeat": {"times": WORDS, "steps": [{"say": "word "}]}}));
        let mut emit = |kind: &str, call: &str, status: &str| {
            story.push(json!([kind, call, status]));
            let event =
                json!({"type": kind, "tool_call_id": call, "tool_name": "look", "status": status});
            steps.push(json!({ "emit": event }));
        };
        let call = format!("call-{block}");
        emit("tool_call", &call, "pending");
        if dice.below(2) == 0 {
            emit("tool_call_update", &call, "in_progress");
        }
        open.push((block + dice.below(6), call));
        open.retain(|(until, call)| {
            if *until <= block {
                emit("tool_call_update", call, "completed");
            }
            *until > block
        });
        if dice.below(2) == 0 {
            // The journal writes everything before a seam when the agent passes it: batches of many sizes.
            story.push(json!(["loop_checkpoint", "post_tool_dispatch"]));
            steps.push(json!({"seam": "post_tool_dispatch"}));
        }
    }
    steps.push(json!({"await_cancel": {}}));
    (steps, story)
}

fn ensure_gap_free(events: &[Envelope]) -> Result<()> {
    let expected = 1..=events.len() as u64;
    ensure!(events.iter().map(|e| e.seq.0).eq(expected), "a gap");
    Ok(())
}

fn fold(events: &[Envelope]) -> SessionView {
    let mut view = SessionView::default();
    events.iter().for_each(|event| view.apply(event));
    view
}

/// Returns the reduced form of an event. An event that this test does not expect becomes `unexpected`.
fn reduce_event(envelope: &Envelope) -> Option<Shown> {
    Some(match &envelope.event {
        AgentEvent::TurnStarted(turn) => match &turn.prompt[..] {
            [ContentBlock::Text { text }] => json!(["user_message_chunk", text]),
            other => json!(["unexpected", format!("{other:?}")]),
        },
        AgentEvent::AgentMessageChunk { content, .. } => json!(["agent_message_chunk", content]),
        AgentEvent::ToolCall(call) => json!(["tool_call", call.tool_call_id, call.status]),
        AgentEvent::ToolCallUpdate(update) => {
            json!(["tool_call_update", update.tool_call_id, update.status])
        }
        AgentEvent::LoopCheckpoint(checkpoint) => json!(["loop_checkpoint", checkpoint.seam]),
        AgentEvent::Recovered(_) => {
            envelope.turn.as_ref()?;
            json!(["agent_thought_chunk", INTERRUPTED])
        }
        other => json!(["unexpected", format!("{other:?}")]),
    })
}

/// Returns the reduced form of a line.
fn reduce_update(message: &Value) -> Shown {
    let params = &message["params"];
    if params["kind"] == "loop_checkpoint" {
        return json!([params["kind"], params["seam"]]);
    }
    let update = &params["update"];
    let kind = &update["sessionUpdate"];
    match kind.as_str() {
        Some("tool_call" | "tool_call_update") => {
            json!([kind, update["toolCallId"], update["status"]])
        }
        Some("user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk") => {
            json!([kind, update["content"]["text"]])
        }
        _ => json!(["unexpected", message]),
    }
}
