//! Checks that every kind of event has all its decisions: its durability, its lines in each profile or why
//! there are none, the schema of these lines, and a fixture.
//!
//! `decisions` is a match without a default: a new event does not compile until it has its row, and the tests
//! report any other missing part.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use harn_acp::{Profile, UpdateProjector, ext::published_schemas::SCHEMAS};
use harn_model::{AgentEvent, DaemonChange, Durability};
use harn_testkit::every_event;
use harn_tests::repository_path;
use serde_json::Value;

/// What a profile shows of a kind of event.
#[derive(Clone, Copy, PartialEq)]
enum Shown {
    /// Lines from the projector.
    Lines,
    /// No line, for this reason.
    Nothing(&'static str),
    /// No line from the projector, for this reason; the fixture shows the message that replaces it.
    Elsewhere(&'static str, &'static str),
}

use Shown::{Elsewhere, Lines, Nothing};

/// The decisions on one kind of event.
struct Decisions {
    durability: Durability,
    /// For the profiles with extensions, sent directly or on a carrier.
    extended: Shown,
    /// For plain ACP clients.
    plain: Shown,
}

fn decisions(event: &AgentEvent) -> Decisions {
    use AgentEvent as E;
    use Durability::{Synced, Written};
    let row = |durability, extended, plain| Decisions {
        durability,
        extended,
        plain,
    };
    let everywhere = |durability| row(durability, Lines, Lines);
    let extended_only = |why| row(Written, Lines, Nothing(why));
    let nowhere = |durability, shown| row(durability, shown, shown);
    match event {
        E::AgentMessageChunk { .. }
        | E::AgentThoughtChunk { .. }
        | E::UserMessage { .. }
        | E::ToolCall(_)
        | E::ToolCallUpdate(_)
        | E::Plan { .. }
        | E::AvailableCommands { .. }
        | E::Usage(_)
        | E::SessionInfo(_) => everywhere(Written),
        // A plain client receives a thought, a tool call or a plan instead.
        E::ProgressReported(_)
        | E::Progress(_)
        | E::Artifact(_)
        | E::Handoff { .. }
        | E::WorkerUpdate(_)
        // A plain client receives only the calls that need an answer.
        | E::WorkerCall(_)
        | E::SkillActivated { .. }
        | E::SkillDeactivated { .. }
        | E::SkillNarrow(_)
        | E::TranscriptCompacted(_)
        | E::HitlRequested { .. }
        | E::CompositionStart(_)
        | E::CompositionFinish(_)
        | E::CompositionError(_) => everywhere(Written),
        E::Log(_) => {
            extended_only("a log is for programs; a thought for each line would drown the answer")
        }
        E::FsWatch { .. } => extended_only("who watches files is a program"),
        E::SkillScopeTools { .. } => {
            extended_only("the thought of the skill that became active says enough")
        }
        E::ToolsChanged(_) => extended_only("which tools there are is the agent's business"),
        E::McpServers { .. } => extended_only("a plain client has no place for it"),
        E::ToolSearchQuery(_) | E::ToolSearchResult(_) => extended_only(
            "which tools the agent looks for is its own affair; what it does with them is shown",
        ),
        E::TranscriptProjected(_) => {
            extended_only("how a prompt was built changes nothing a person sees")
        }
        E::ReminderEmitted(_) => {
            extended_only("a reminder is meant for the model, not for a person")
        }
        E::LiveSessionClient { .. } => {
            extended_only("a plain client cannot act on who else is there")
        }
        E::CompositionChildCall(_) | E::CompositionChildResult(_) => {
            extended_only("a composition is one tool call for a plain client")
        }
        E::LoopCheckpoint(_) => extended_only("a seam is for who steers"),
        E::ControlOutcome(_) => extended_only("the answer to the control says so"),
        E::Daemon(DaemonChange::WatchdogTripped { .. }) => {
            extended_only("the turn ends, which everyone sees")
        }
        E::Daemon(_) => nowhere(
            Written,
            Elsewhere("a sign of life is sent while the agent waits", "agent_idle"),
        ),
        E::Pending(_) => nowhere(
            Written,
            Elsewhere("what waits is shown when it is delivered", "user_message"),
        ),
        E::ReminderLifecycle(_) => nowhere(
            Written,
            Elsewhere("a reminder is told when it is rendered", "reminder_emitted"),
        ),
        // A plain client that received the question as a permission request receives the end of its call.
        E::HitlResolved { .. } => everywhere(Synced),
        E::SessionClosed { .. } => row(Synced, Lines, Nothing("the answer to its request says so")),
        E::TurnStarted(_) => everywhere(Written),
        E::Recovered(_) => everywhere(Written),
        E::SkillMatched(_) => nowhere(
            Written,
            Nothing("the contract keeps the ranking in the transcript"),
        ),
        E::PromptQueued(_) => nowhere(
            Written,
            Elsewhere(
                "a prompt that waits is shown when its turn begins",
                "turn_started",
            ),
        ),
        E::PromptWithdrawn(_) => nowhere(
            Synced,
            Elsewhere("the answer to the prompt says so", "session_prompt-result"),
        ),
        E::TurnEnded(_) => nowhere(
            Synced,
            Elsewhere("the answer to the prompt says so", "session_prompt-result"),
        ),
        E::PermissionAsked(_) => nowhere(
            Written,
            Elsewhere(
                "a question is a request to who controls the session",
                "permission_request",
            ),
        ),
        E::PermissionGrant(_) | E::PermissionDeny(_) | E::PermissionEscalation(_) => nowhere(
            Written,
            Nothing(
                "the record of decisions is the transcript's; the call shows what came of them",
            ),
        ),
        E::LiveSessionPermissionRoute(_) => {
            nowhere(Written, Nothing("who was asked is the transcript's"))
        }
        E::GrantRevoked { .. } => nowhere(Synced, Nothing("the answer to the command says so")),
        E::HitlResponded(_) => nowhere(
            Synced,
            Nothing("who answered what is the transcript's; hosts hear how the question ended"),
        ),
        E::PermissionResolved(_) => nowhere(Synced, Nothing("the tool call shows what came of it")),
        E::ModeChanged { .. } => nowhere(
            Synced,
            Elsewhere(
                "told live by the connection, and by the answer to a load",
                "current_mode_update",
            ),
        ),
        E::ConfigChanged { .. } => nowhere(
            Synced,
            Elsewhere(
                "told live with the whole list, and by the answer to a load",
                "config_option_update",
            ),
        ),
    }
}

/// The updates of ACP, and the contract's `user_message`, which is in ACP's second version.
const STANDARD: [&str; 10] = [
    "agent_message_chunk",
    "agent_thought_chunk",
    "available_commands_update",
    "plan",
    "session_info_update",
    "tool_call",
    "tool_call_update",
    "usage_update",
    "user_message",
    "user_message_chunk",
];

/// Returns the kind under which an event is decided: the end of a wait by the watchdog is a kind of its own.
fn kind(event: &AgentEvent) -> &'static str {
    match event {
        AgentEvent::Daemon(DaemonChange::WatchdogTripped { .. }) => "daemon: watchdog_tripped",
        other => other.name(),
    }
}

/// Returns the words that each kind of event puts on the wire: names of updates and kinds of agent events.
fn words_by_event(profile: Profile) -> BTreeMap<&'static str, BTreeSet<String>> {
    let projector = UpdateProjector::new(&"session-1".into(), profile, false);
    let mut written: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for envelope in every_event() {
        let mut lines = Vec::new();
        projector.write(&envelope, &mut lines);
        let words = written.entry(kind(&envelope.event)).or_default();
        for line in String::from_utf8(lines).unwrap().lines() {
            let message: Value = serde_json::from_str(line).unwrap();
            words.insert(word_of(&message).unwrap().to_owned());
        }
    }
    written
}

/// Returns the name of an update (of the carried one, if it is a carrier), or the kind of an agent event.
fn word_of(message: &Value) -> Option<&str> {
    let params = &message["params"];
    let update = &params["update"];
    let carried = update["_meta"]["harn"]["sessionUpdate"].as_str();
    carried
        .or(update["sessionUpdate"].as_str())
        .or(params["kind"].as_str())
}

#[test]
fn every_event_occurs_in_the_test_data() {
    let found: BTreeSet<_> = every_event().iter().map(|e| e.event.name()).collect();
    for name in AgentEvent::NAMES {
        assert!(
            found.contains(name),
            "{name}: never happens; give it a moment in crates/testkit/src/every_event"
        );
    }
}

#[test]
fn every_event_has_the_decided_durability() {
    for envelope in every_event() {
        let (name, event) = (envelope.event.name(), &envelope.event);
        assert_eq!(
            event.durability(),
            decisions(event).durability,
            "{name}: its durability is not what `decisions` says"
        );
    }
}

#[test]
fn every_profile_shows_what_was_decided() {
    let profiles = [Profile::Harn, Profile::Meta, Profile::Acp];
    for profile in profiles {
        let written = words_by_event(profile);
        for envelope in every_event() {
            let name = kind(&envelope.event);
            let decisions = decisions(&envelope.event);
            let shown = match profile {
                Profile::Harn | Profile::Meta => decisions.extended,
                Profile::Acp => decisions.plain,
            };
            let words = &written[name];
            match shown {
                Lines => assert!(
                    !words.is_empty(),
                    "{name}: the profile {profile:?} writes nothing; write something, or say why not in `decisions`"
                ),
                Nothing(why) | Elsewhere(why, _) => assert!(
                    words.is_empty(),
                    "{name}: the profile {profile:?} writes {words:?}, though “{why}”"
                ),
            }
        }
    }
}

/// A name that ACP does not know needs a branch in a schema.
#[test]
fn everything_shown_has_a_schema() {
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let schemas = SCHEMAS.iter().map(|(name, text)| (*name, parsed(text)));
    let schemas: BTreeMap<_, _> = schemas.collect();
    let variants = |file: &str, tag: &str| -> BTreeSet<String> {
        let branches = schemas[file]["oneOf"].as_array().unwrap().iter();
        let names = branches.filter_map(|branch| branch["properties"][tag]["const"].as_str());
        names.map(str::to_owned).collect()
    };
    let kinds = variants("agent-event.schema.json", "kind");
    let direct = variants("session-update-extensions.schema.json", "sessionUpdate");
    let carried = variants("session-info-meta.schema.json", "sessionUpdate");
    for (profile, extensions) in [(Profile::Harn, &direct), (Profile::Meta, &carried)] {
        for (event, words) in words_by_event(profile) {
            for word in words {
                let known = STANDARD.contains(&word.as_str())
                    || kinds.contains(&word)
                    || extensions.contains(&word);
                assert!(
                    known,
                    "{event}: no schema for {word} in the profile {profile:?}"
                );
            }
        }
    }
    for (event, words) in words_by_event(Profile::Acp) {
        let strange = words.iter().find(|word| !STANDARD.contains(&word.as_str()));
        assert!(strange.is_none(), "{event}: ACP does not know {strange:?}");
        assert!(
            !words.contains("user_message"),
            "{event}: ACP's first version has no user_message"
        );
    }
}

#[test]
fn everything_shown_has_a_fixture() {
    let folder = repository_path("fixtures/acp");
    let files = fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "json"));
    let shown: BTreeSet<String> = files
        .filter_map(|path| {
            let message: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
            word_of(&message).map(str::to_owned)
        })
        .collect();
    for profile in [Profile::Harn, Profile::Meta, Profile::Acp] {
        for (event, words) in words_by_event(profile) {
            for word in words {
                assert!(
                    shown.contains(&word),
                    "{event}: no fixture shows {word}; add a row to tests/tests/it/fixtures/table"
                );
            }
        }
    }
    for envelope in every_event() {
        if let Elsewhere(_, fixture) = decisions(&envelope.event).extended {
            let name = envelope.event.name();
            let there = folder.join(format!("{fixture}.json")).exists();
            assert!(there, "{name}: there is no fixture {fixture}");
        }
    }
}
