//! A session with every kind of event, for fixtures, journals and translations to compare with.
//!
//! It is not a list of events: the runtime runs a real session with an agent that plays the story in the files of
//! this folder. So its events are valid, and completed by the runtime. The agent's own steps are in the `.jsonl`
//! files, one per line.

mod lines;
mod rule_calls;
mod steering;
mod story_player;

use std::{sync::OnceLock, thread};

use harn_model::{AgentEvent, ContentBlock, Decision, DeliveryMode, Envelope, Seam, StopReason};
use harn_runtime::{EquipmentChange, Question};

use crate::must;
use lines::steps;
use steering::{StoryCommand, StoryRequest, StoryWake};

/// Returns at least one event of every kind and of every inner kind with its own form; those with optional parts
/// appear with and without them. The result is always the same.
///
/// The keys of untyped values are in alphabetical order, because whether a map keeps another order depends on the
/// features of the build.
pub fn every_event() -> Vec<Envelope> {
    static STORY: OnceLock<Vec<Envelope>> = OnceLock::new();
    let led = STORY.get_or_init(|| {
        // A thread of its own: callers may be inside a runtime.
        match thread::spawn(|| story_player::play_story(story())).join() {
            Ok(events) => events,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
    led.clone()
}

/// A step of an agent in a turn.
enum StoryStep {
    Emit(AgentEvent),
    Pass(Seam),
    Ask(Box<StoryQuestion>),
    /// A call that the rules decide, and the answer if they ask.
    Judge(StoryCall, Option<Decision>),
    /// A person is asked to approve this, and approves it.
    Consult(&'static str),
    /// A client sends a request to the session meanwhile.
    Want(StoryRequest),
    /// The agent waits until this wakes it.
    Wait(StoryWake),
    /// The equipment of the session changes.
    Equip(EquipmentChange),
}

enum StoryCall {
    Command(&'static str),
    Path(&'static str),
}

/// A question with its answer; without a decision it gets no answer.
struct StoryQuestion {
    question: Question,
    /// The names of the workers that pass the task on to the worker that asks.
    through: Vec<String>,
    decision: Option<Decision>,
}

enum StoryEnding {
    Stop(StopReason),
    Fail(&'static str),
    Cancel,
    Crash,
    /// The turn only revokes a grant of the session.
    Revoke,
}

struct StoryTurn {
    /// The session's mode during the turn.
    mode: &'static str,
    prompt: Vec<ContentBlock>,
    steps: Vec<StoryStep>,
    /// The steps after a message that waited until the turn was done.
    afterwards: Option<Vec<StoryStep>>,
    ending: StoryEnding,
}

impl StoryTurn {
    /// Returns a turn that ends by itself after its steps.
    fn new(mode: &'static str, prompt: &str, steps: Vec<StoryStep>) -> Self {
        Self {
            mode,
            prompt: vec![ContentBlock::text(prompt)],
            steps,
            afterwards: None,
            ending: StoryEnding::Stop(StopReason::EndTurn),
        }
    }

    fn all_steps(&self) -> impl Iterator<Item = &StoryStep> {
        self.steps.iter().chain(self.afterwards.iter().flatten())
    }
}

/// Returns every kind of content block.
fn prompt() -> Vec<ContentBlock> {
    let blocks = include_str!("prompt.jsonl").lines();
    let blocks = blocks.map(|block| must(serde_json::from_str(block), block));
    blocks.collect()
}

fn story() -> Vec<StoryTurn> {
    let mut stays = steps(include_str!("equipment.jsonl"));
    stays.extend(steering::idle_steps());
    vec![
        StoryTurn {
            prompt: prompt(),
            ..StoryTurn::new("ask", "", steps(include_str!("everything.jsonl")))
        },
        StoryTurn::new(
            "accept-edits",
            "Change what you may.",
            rule_calls::judged_calls(),
        ),
        StoryTurn {
            ending: StoryEnding::Revoke,
            ..StoryTurn::new("ask", "", Vec::new())
        },
        // Nothing may change in this mode, so no event has an audit.
        StoryTurn {
            ending: StoryEnding::Fail("the engine gave up"),
            ..StoryTurn::new(
                "read-only",
                "Only look.",
                steps(include_str!("only-look.jsonl")),
            )
        },
        StoryTurn {
            afterwards: Some(steering::steps_after_message()),
            ..StoryTurn::new("ask", "Take your time.", steering::request_steps())
        },
        StoryTurn::new("ask", "Stay, and watch.", stays),
        StoryTurn {
            ending: StoryEnding::Cancel,
            ..StoryTurn::new("ask", "Start everything.", unended_steps("cancelled"))
        },
        StoryTurn {
            ending: StoryEnding::Crash,
            ..StoryTurn::new("ask", "Start everything again.", unended_steps("crashed"))
        },
    ]
}

/// Starts one of everything that has an end, without ending it; the ids contain the turn.
fn unended_steps(turn: &str) -> Vec<StoryStep> {
    let mut steps = steps(&include_str!("left-open.jsonl").replace("{turn}", turn));
    // Waits for the next prompt; the last time there is none.
    let (mode, text) = (DeliveryMode::FinishStep, "And the benchmark.");
    steps.push(steering::controller_request(StoryCommand::Say(
        "benchmark",
        mode,
        text,
    )));
    steps
}

fn emit(event: AgentEvent) -> StoryStep {
    StoryStep::Emit(event)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use harn_model::{LineageEntry, LoopCheckpoint, PermissionAsked, SlashCommand};

    use super::*;

    #[test]
    fn story_has_every_kind_of_event() {
        let events = every_event();
        let found: BTreeSet<_> = events.iter().map(|e| e.event.name()).collect();
        let missing: Vec<_> = AgentEvent::NAMES
            .iter()
            .filter(|n| !found.contains(*n))
            .collect();
        assert!(
            missing.is_empty(),
            "no event for {missing:?}: add one to the story"
        );
    }

    #[test]
    fn story_is_the_same_every_time() {
        let again = thread::spawn(|| story_player::play_story(story())).join();
        assert_eq!(again.ok(), Some(every_event()));
    }

    /// Deserialisation drops a misspelled member.
    #[test]
    fn every_line_is_parsed_without_loss() {
        let texts = [
            include_str!("everything.jsonl"),
            include_str!("only-look.jsonl"),
            include_str!("equipment.jsonl"),
            include_str!("left-open.jsonl"),
        ];
        for line in texts.iter().flat_map(|text| text.lines()) {
            let told: serde_json::Value = serde_json::from_str(line).unwrap();
            for step in steps(line) {
                if let StoryStep::Emit(event) = step {
                    assert_eq!(serde_json::to_value(&event).unwrap(), told["emit"]);
                }
            }
        }
    }

    /// Every step is in the journal, in order: the runtime omitted, renamed or completed none.
    #[test]
    fn runtime_changes_no_step_of_the_story() {
        let events = every_event();
        let mut written = events.iter().map(|envelope| &envelope.event);
        for step in story().into_iter().flat_map(into_steps) {
            let told = match step {
                StoryStep::Emit(AgentEvent::AvailableCommands { mut commands, .. }) => {
                    // Every session has the runtime's own command.
                    commands.push(SlashCommand {
                        name: "permissions".to_owned(),
                        description: String::new(),
                        input: None,
                    });
                    AgentEvent::commands(commands)
                }
                StoryStep::Emit(event) => event,
                StoryStep::Ask(ask) => {
                    AgentEvent::PermissionAsked(Box::new(expected_question(*ask)))
                }
                // Only the runtime writes the events of these steps.
                StoryStep::Judge(..)
                | StoryStep::Consult(_)
                | StoryStep::Want(_)
                | StoryStep::Wait(_)
                | StoryStep::Equip(_) => continue,
                StoryStep::Pass(seam) => AgentEvent::LoopCheckpoint(LoopCheckpoint {
                    // The runtime counts iterations.
                    iteration: 0,
                    seam,
                    delivered: 0,
                    dispatch_skipped: false,
                }),
            };
            let found = written.find(|event| is_completed(&told, event));
            assert!(found.is_some(), "the runtime changed {told:?}");
        }
        // All other events are the runtime's own.
        let steps = story().into_iter().flat_map(into_steps);
        let told = |step: &StoryStep| {
            use StoryStep::{Consult, Equip, Judge, Wait, Want};
            !matches!(step, Judge(..) | Consult(_) | Want(_) | Wait(_) | Equip(_))
        };
        let steps = steps.filter(told).count();
        assert_eq!(events.len(), steps + RUNTIMES_OWN);
    }

    fn into_steps(turn: StoryTurn) -> impl Iterator<Item = StoryStep> {
        turn.steps
            .into_iter()
            .chain(turn.afterwards.into_iter().flatten())
    }

    /// Eight starts and seven ends; an option, and a mode for each turn; the answers to five questions; the start
    /// and the end of a worker that asks, and three events of its call; for each of two turns the ends of a
    /// question, a call, a child, a run, a worker and an ask that were open; a recovery and a close; the events of
    /// calls under rules and of an approval; a revoked grant; the events of steering; and the changes of the
    /// equipment.
    const RUNTIMES_OWN: usize =
        8 + 7 + 9 + 5 + 5 + 2 * 6 + 2 + JUDGED + 2 + STEERED + WAITED + EQUIPPED;
    /// Three calls without a question, each with its receipt and its end; two that a client allows, with the
    /// question, its route, its answer, both receipts, the start and the end; one that is rejected; and an
    /// approval with its answer and its end.
    const JUDGED: usize = 3 * 3 + 2 * 8 + 7 + 3;

    /// An outcome for every request and for the cancel; changes of the queue by messages, by reminders and when it
    /// is cleared; three delivered messages; of reminders, six injected, one replaced, two turns counted, two
    /// expired; five rendered; a skipped call; the seams at the end; a withdrawn question; and a queued and
    /// withdrawn prompt.
    const STEERED: usize = 26 + (8 + 8 + 1) + 3 + (6 + 1 + 2 + 2) + 5 + 1 + 2 + 1 + 2;
    /// The changes of the tools and of the servers, with all parts and without.
    const EQUIPPED: usize = 2 + 3;
    /// Six waits, with the seams before and after them, and one that does not begin.
    const WAITED: usize = 6 * (3 + 2) + 2;

    /// Returns a question as the journal has it; the fields that the runtime sets are empty.
    fn expected_question(ask: StoryQuestion) -> PermissionAsked {
        let Question {
            mut tool_call,
            options,
        } = ask.question;
        if !ask.through.is_empty() {
            tool_call.tool_call_id = "".into();
        }
        let through = ask.through.iter().map(|name| LineageEntry {
            worker_id: "".into(),
            worker_name: name.clone(),
            session_id: "".into(),
        });
        PermissionAsked {
            lineage: through.collect(),
            ..PermissionAsked::new("".into(), tool_call, options)
        }
    }

    /// Returns whether `written` contains everything in `told`.
    fn is_completed(told: &AgentEvent, written: &AgentEvent) -> bool {
        let value = |event| serde_json::to_value(event).unwrap();
        contains_members(&value(told), &value(written))
    }

    fn contains_members(told: &serde_json::Value, written: &serde_json::Value) -> bool {
        use serde_json::Value::{Array, Null, Number, Object, String};
        match (told, written) {
            (Object(told), Object(written)) => told.iter().all(|(key, told)| {
                // The end of a composition omits members that its start has.
                let said_before = ["binding_manifest", "snippet"].contains(&key.as_str());
                let written = written.get(key);
                said_before && written.is_none() || contains_members(told, written.unwrap_or(&Null))
            }),
            (Array(told), Array(written)) => {
                told.len() == written.len()
                    && told
                        .iter()
                        .zip(written)
                        .all(|(t, w)| contains_members(t, w))
            }
            // The runtime sets empty members.
            (Null, _) => true,
            (String(told), String(_)) if told.is_empty() => true,
            (Number(told), Number(_)) if told.as_u64() == Some(0) => true,
            (told, written) => told == written,
        }
    }
}
