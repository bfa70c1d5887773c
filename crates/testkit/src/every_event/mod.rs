//! A made-up session in which everything happens: what fixtures, journals and translations are held to.
//!
//! It is no list of events but a session that was really led, by the runtime and with an agent that plays
//! the story in the files beside this one: so it is legal, and complete as the runtime completes it. What the agent
//! does by itself is in the `.jsonl` files, a step a line.

mod judged;
mod lead;
mod lines;
mod steering;

use std::{sync::OnceLock, thread};

use harn_model::{AgentEvent, ContentBlock, Decision, DeliveryMode, Envelope, Seam, StopReason};
use harn_runtime::{EquipmentChange, Question};

use crate::must;
use lines::steps;
use steering::{StoryCommand, StoryRequest, StoryWake};

/// At least one event of every kind, one of every inner kind whose form is its own, and those with optional
/// parts both with and without them. The same every time.
///
/// The keys of untyped values stand in alphabetical order, because whether a map keeps another order
/// depends on what else is built along.
#[must_use]
pub fn every_event() -> Vec<Envelope> {
    static STORY: OnceLock<Vec<Envelope>> = OnceLock::new();
    let led = STORY.get_or_init(|| {
        // A thread of its own: callers may be inside a runtime.
        match thread::spawn(|| lead::lead(story())).join() {
            Ok(events) => events,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
    led.clone()
}

/// What an agent does in a turn, in order.
enum StoryStep {
    Emit(AgentEvent),
    Pass(Seam),
    Ask(Box<StoryQuestion>),
    /// A call that the rules decide about, and what is answered where they ask.
    Judge(StoryCall, Option<Decision>),
    /// A person is asked to approve this, and does.
    Consult(&'static str),
    /// Somebody wants something of the session meanwhile.
    Want(StoryRequest),
    /// It waits for more to do, until this wakes it.
    Wait(StoryWake),
    /// What the session is equipped with changes.
    Equip(EquipmentChange),
}

enum StoryCall {
    Command(&'static str),
    Path(&'static str),
}

/// A question, and how it is answered; nobody answers without a decision.
struct StoryQuestion {
    question: Question,
    /// The workers that pass the task on to the one that asks, by name.
    through: Vec<String>,
    decision: Option<Decision>,
}

enum StoryEnding {
    Stop(StopReason),
    Fail(&'static str),
    Cancel,
    Crash,
    /// Nothing is done but to take back what the session remembers.
    Revoke,
}

struct StoryTurn {
    /// The mode it is played in.
    mode: &'static str,
    prompt: Vec<ContentBlock>,
    steps: Vec<StoryStep>,
    /// What it does with a message that waited until it was done.
    afterwards: Option<Vec<StoryStep>>,
    ending: StoryEnding,
}

impl StoryTurn {
    /// One that ends by itself when its steps are done.
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

/// Every kind of block.
fn prompt() -> Vec<ContentBlock> {
    let blocks = include_str!("prompt.jsonl").lines();
    let blocks = blocks.map(|block| must(serde_json::from_str(block), block));
    blocks.collect()
}

fn story() -> Vec<StoryTurn> {
    let mut stays = steps(include_str!("equipment.jsonl"));
    stays.extend(steering::waits());
    vec![
        StoryTurn {
            prompt: prompt(),
            ..StoryTurn::new("ask", "", steps(include_str!("everything.jsonl")))
        },
        StoryTurn::new("accept-edits", "Change what you may.", judged::judged()),
        StoryTurn {
            ending: StoryEnding::Revoke,
            ..StoryTurn::new("ask", "", Vec::new())
        },
        // Nothing may be changed, so nothing has an audit.
        StoryTurn {
            ending: StoryEnding::Fail("the engine gave up"),
            ..StoryTurn::new(
                "read-only",
                "Only look.",
                steps(include_str!("only-look.jsonl")),
            )
        },
        StoryTurn {
            afterwards: Some(steering::afterwards()),
            ..StoryTurn::new("ask", "Take your time.", steering::wishes())
        },
        StoryTurn::new("ask", "Stay, and watch.", stays),
        StoryTurn {
            ending: StoryEnding::Cancel,
            ..StoryTurn::new("ask", "Start everything.", left_open("cancelled"))
        },
        StoryTurn {
            ending: StoryEnding::Crash,
            ..StoryTurn::new("ask", "Start everything again.", left_open("crashed"))
        },
    ]
}

/// One of everything that has an end, without it; the ids say in which turn.
fn left_open(turn: &str) -> Vec<StoryStep> {
    let mut steps = steps(&include_str!("left-open.jsonl").replace("{turn}", turn));
    // Waits for a prompt that is not cancelled, and in the end for nothing.
    let (mode, text) = (DeliveryMode::FinishStep, "And the benchmark.");
    steps.push(steering::wish(StoryCommand::Say("benchmark", mode, text)));
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
    fn everything_happens() {
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
    fn it_is_told_the_same_way_every_time() {
        let again = thread::spawn(|| lead::lead(story())).join();
        assert_eq!(again.ok(), Some(every_event()));
    }

    /// A member that is misspelled would be left out.
    #[test]
    fn every_line_says_what_is_read_of_it() {
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

    /// Every step is found again, in its order: none was left out, renamed, or given a beginning.
    #[test]
    fn nothing_in_it_had_to_be_mended() {
        let events = every_event();
        let mut written = events.iter().map(|envelope| &envelope.event);
        for step in story().into_iter().flat_map(steps_of) {
            let told = match step {
                StoryStep::Emit(AgentEvent::AvailableCommands { mut commands, .. }) => {
                    // Every session has one more.
                    commands.push(SlashCommand {
                        name: "permissions".to_owned(),
                        description: String::new(),
                        input: None,
                    });
                    AgentEvent::commands(commands)
                }
                StoryStep::Emit(event) => event,
                StoryStep::Ask(ask) => AgentEvent::PermissionAsked(Box::new(put(*ask))),
                // All that is written of it is the runtime's own.
                StoryStep::Judge(..)
                | StoryStep::Consult(_)
                | StoryStep::Want(_)
                | StoryStep::Wait(_)
                | StoryStep::Equip(_) => continue,
                StoryStep::Pass(seam) => AgentEvent::LoopCheckpoint(LoopCheckpoint {
                    // Counted by the runtime.
                    iteration: 0,
                    seam,
                    delivered: 0,
                    dispatch_skipped: false,
                }),
            };
            let found = written.find(|event| is_completed(&told, event));
            assert!(found.is_some(), "the runtime changed {told:?}");
        }
        // Beyond the steps there is only what the runtime says on its own.
        let steps = story().into_iter().flat_map(steps_of);
        let told = |step: &StoryStep| {
            use StoryStep::{Consult, Equip, Judge, Wait, Want};
            !matches!(step, Judge(..) | Consult(_) | Want(_) | Wait(_) | Equip(_))
        };
        let steps = steps.filter(told).count();
        assert_eq!(events.len(), steps + RUNTIMES_OWN);
    }

    fn steps_of(turn: StoryTurn) -> impl Iterator<Item = StoryStep> {
        turn.steps
            .into_iter()
            .chain(turn.afterwards.into_iter().flatten())
    }

    /// Eight starts and seven ends; an option and a mode for each turn; the answers to five asks; the start and the end of a
    /// worker that asks, and three events of its call; for each of two turns what was left open: a question, a call, a child, a run, a worker and an ask;
    /// a recovery and a close; and all that is written of calls under rules and of a person who approves, and of a
    /// grant that is taken back; what comes of steering; and what the session is equipped with.
    const RUNTIMES_OWN: usize =
        8 + 7 + 9 + 5 + 5 + 2 * 6 + 2 + JUDGED + 2 + STEERED + WAITED + EQUIPPED;
    /// Three calls that nobody is asked about, with their record and their end; two that somebody allows, with the
    /// question, whom it was put to, its answer, both records, the start and the end; one that is rejected; and a
    /// question with an answer and an end.
    const JUDGED: usize = 3 * 3 + 2 * 8 + 7 + 3;

    /// An outcome for every wish and for the cancel; the changes of what waits, to messages, to reminders, and when
    /// all is cleared; three messages that are delivered; a reminder's steps: six come into force, one gives way,
    /// two turns pass, two expire; five are rendered; a call that is skipped; the seams on the way out; a
    /// question that is taken back; and a prompt that waits and is too.
    const STEERED: usize = 26 + (8 + 8 + 1) + 3 + (6 + 1 + 2 + 2) + 5 + 1 + 2 + 1 + 2;
    /// How the tools and the servers changed, each with all its parts and without.
    const EQUIPPED: usize = 2 + 3;
    /// Six waits, with the seams before them and behind them, and one that is not begun.
    const WAITED: usize = 6 * (3 + 2) + 2;

    /// A question as it is written, as far as the story tells: names are given by the runtime.
    fn put(ask: StoryQuestion) -> PermissionAsked {
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

    /// Whether `written` says all that `told` says.
    fn is_completed(told: &AgentEvent, written: &AgentEvent) -> bool {
        let value = |event| serde_json::to_value(event).unwrap();
        says(&value(told), &value(written))
    }

    fn says(told: &serde_json::Value, written: &serde_json::Value) -> bool {
        use serde_json::Value::{Array, Null, Number, Object, String};
        match (told, written) {
            (Object(told), Object(written)) => told.iter().all(|(key, told)| {
                // The ends of a composition leave what its start has said.
                let said_before = ["binding_manifest", "snippet"].contains(&key.as_str());
                let written = written.get(key);
                said_before && written.is_none() || says(told, written.unwrap_or(&Null))
            }),
            (Array(told), Array(written)) => {
                told.len() == written.len() && told.iter().zip(written).all(|(t, w)| says(t, w))
            }
            // Filled in where nothing was told.
            (Null, _) => true,
            (String(told), String(_)) if told.is_empty() => true,
            (Number(told), Number(_)) if told.as_u64() == Some(0) => true,
            (told, written) => told == written,
        }
    }
}
