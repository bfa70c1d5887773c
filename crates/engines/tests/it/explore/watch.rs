//! `/watch`: real files change, and messages arrive meanwhile.

use std::{fs, path::Path, sync::Arc};

use harn_model::{
    Actor, AgentEvent, ContentBlock, DaemonChange, DeliveryMode, FsWatchEvent, Grant,
    ReminderChange, ReminderSource, StopReason, SystemReminder, Timestamp, ToolCallStatus,
};
use harn_policy::{Policy, PolicyError, ToolApprovalPolicy};
use harn_runtime::RuleBook;

use crate::explore::test_session::{Rig, Turn, assert_failed};

fn actor() -> Actor {
    Actor {
        client_id: "test".to_owned(),
        role: "controller".to_owned(),
        source: "test".to_owned(),
    }
}

async fn say(rig: &Rig, text: &str) {
    let (mode, content) = (DeliveryMode::FinishStep, vec![ContentBlock::text(text)]);
    let taken = rig.session.inject(mode, content, actor(), |_| ()).await;
    taken.unwrap();
}

/// Puts a file into the workspace in one step, so that there is one change.
fn put(rig: &Rig, path: &str, text: &str) {
    let (beside, path) = (rig.path_of("../beside"), rig.path_of(path));
    fs::write(&beside, text).unwrap();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::rename(&beside, &path).unwrap();
}

fn is_idle(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Daemon(DaemonChange::Idle { .. }))
}

/// Starts a watch and returns the events until it is idle.
async fn watch(rig: &mut Rig, glob: &str) -> Turn {
    rig.begin(vec![ContentBlock::text(format!("/watch {glob}"))])
        .await;
    rig.collect_until(is_idle).await
}

/// Collects events until the watch has reported changes and is idle again.
async fn collect_changes(rig: &mut Rig) -> Turn {
    let is_change = |event: &AgentEvent| matches!(event, AgentEvent::FsWatch { .. });
    let mut turn = rig.collect_until(is_change).await;
    if !turn.events.last().is_some_and(is_idle) {
        turn.events.extend(rig.collect_until(is_idle).await.events);
    }
    turn
}

fn watch_events(turn: &Turn) -> Vec<(&str, &FsWatchEvent)> {
    let told = turn.events.iter().filter_map(|event| match event {
        AgentEvent::FsWatch {
            subscription_id,
            events,
        } => Some(events.iter().map(|event| (subscription_id.as_str(), event))),
        _ => None,
    });
    told.flatten().collect()
}

fn reminders(turn: &Turn) -> Vec<&SystemReminder> {
    let injected = turn.events.iter().filter_map(|event| match event {
        AgentEvent::ReminderLifecycle(change) => match &**change {
            ReminderChange::Injected { reminder, .. } => Some(reminder),
            _ => None,
        },
        _ => None,
    });
    injected.collect()
}

#[tokio::test]
async fn change_is_reported_and_becomes_a_reminder() {
    let mut rig = Rig::new(&[
        ("src/a.rs", "one\n"),
        ("src/b.rs", "two\n"),
        ("c.md", "three\n"),
    ])
    .await;
    let opening = watch(&mut rig, "src/**").await;
    let (call, end) = opening.only_call();
    assert_eq!(call.title.as_deref(), Some("Watch src/**"));
    assert_eq!(end.status, ToolCallStatus::Completed);
    assert_eq!(end.raw_output.as_ref().unwrap()["files"], 2);
    assert_eq!(
        opening.answer(),
        "Watching `src/**`: 2 files match. Each change is reported here; `/unwatch` or a cancel ends \
         the watch.\n\n"
    );

    // The first file does not match the glob.
    put(&rig, "c.md", "four\n");
    put(&rig, "src/a.rs", "changed\n");
    let turn = collect_changes(&mut rig).await;
    assert_eq!(turn.answer(), "Changed `src/a.rs`.\n\n");
    let told = watch_events(&turn);
    let [(watch, event)] = told[..] else {
        panic!("{told:?}");
    };
    assert_eq!(event.relative_paths, ["src/a.rs"]);
    assert_eq!(event.paths, [rig.path_of("src/a.rs").display().to_string()]);
    let kept = reminders(&turn);
    let [kept] = kept[..] else {
        panic!("{kept:?}");
    };
    assert_eq!(
        kept.body,
        "Changed on disk: src/a.rs. Read again the files that you rely on."
    );
    assert_eq!(kept.tags, ["workspace"]);
    assert_eq!(kept.ttl_turns, Some(2));
    assert_eq!(kept.dedupe_key.as_deref(), Some(watch));
    assert_eq!(kept.source, ReminderSource::InPipeline);
    let rendered = |event: &AgentEvent| matches!(event, AgentEvent::ReminderEmitted(it) if it.reminder_id == kept.id);
    assert_eq!(turn.events.iter().filter(|e| rendered(e)).count(), 1);

    // The next reminder replaces it, and the watch continues.
    fs::remove_file(rig.path_of("src/b.rs")).unwrap();
    let turn = collect_changes(&mut rig).await;
    assert_eq!(turn.answer(), "Removed `src/b.rs`.\n\n");
    assert_eq!(reminders(&turn)[0].body, "Removed from disk: src/b.rs.");
    assert!(turn.events.iter().any(|event| matches!(
        event,
        AgentEvent::ReminderLifecycle(change) if matches!(**change, ReminderChange::Deduped { .. })
    )));
}

#[tokio::test]
async fn cancel_ends_the_watch() {
    let mut rig = Rig::new(&[]).await;
    let turn = rig.begin(vec![ContentBlock::text("/watch *")]).await;
    rig.collect_until(is_idle).await;
    rig.session.cancel(turn).await;
    assert_eq!(rig.finish().await.stop_reason(), StopReason::Cancelled);
    assert!(rig.play("/help").await.answer().contains("/watch"));
}

#[tokio::test]
async fn message_during_a_watch_is_answered() {
    let mut rig = Rig::new(&[("README.md", "# Pears\n"), ("a.txt", "one\n")]).await;
    watch(&mut rig, "*.txt").await;
    say(&rig, "/read README.md").await;
    let turn = rig.collect_until(is_idle).await;
    assert_eq!(turn.titles(), ["Read README.md"]);
    assert!(turn.answer().contains("# Pears"), "{}", turn.answer());
    // The watch continues.
    put(&rig, "b.txt", "new\n");
    assert_eq!(
        collect_changes(&mut rig).await.answer(),
        "Created `b.txt`.\n\n"
    );
    say(&rig, "/unwatch").await;
    let end = rig.finish().await;
    assert_eq!(end.answer(), "No longer watching `*.txt`.\n\n");
    assert_eq!(end.stop_reason(), StopReason::EndTurn);
    let turn = rig.play("/unwatch").await;
    assert!(turn.answer().starts_with("Nothing is watched."));
}

#[tokio::test]
async fn new_watch_replaces_the_old_one_unless_it_fails() {
    let mut rig = Rig::new(&[("a.txt", "one\n"), ("b.md", "two\n")]).await;
    watch(&mut rig, "*.txt").await;
    say(&rig, "/watch ../*").await;
    let turn = rig.collect_until(is_idle).await;
    assert_failed(turn.only_call().1, "leads out of the workspace");
    let answer = turn.answer();
    assert!(answer.starts_with("Not watched: "), "{answer}");
    assert!(answer.ends_with(" Still watching `*.txt`.\n\n"), "{answer}");
    put(&rig, "a.txt", "changed\n");
    let turn = collect_changes(&mut rig).await;
    assert_eq!(turn.answer(), "Changed `a.txt`.\n\n");
    let first = watch_events(&turn)[0].0.to_owned();

    say(&rig, "/watch *.md").await;
    let turn = rig.collect_until(is_idle).await;
    assert!(
        turn.answer()
            .starts_with("Watching `*.md`: 1 file matches."),
        "{}",
        turn.answer()
    );
    put(&rig, "a.txt", "changed again\n");
    put(&rig, "b.md", "changed\n");
    let turn = collect_changes(&mut rig).await;
    assert_eq!(turn.answer(), "Changed `b.md`.\n\n");
    assert_ne!(watch_events(&turn)[0].0, first, "it is another watch");
}

#[tokio::test]
async fn watch_reports_files_created_later() {
    let mut rig = Rig::new(&[]).await;
    let opening = watch(&mut rig, "new/**/*.rs").await;
    let answer = opening.answer();
    assert!(
        answer.starts_with("Watching `new/**/*.rs`: no file matches yet. "),
        "{answer}"
    );
    put(&rig, "new/deep/a.rs", "one\n");
    assert_eq!(
        collect_changes(&mut rig).await.answer(),
        "Created `new/deep/a.rs`.\n\n"
    );
    rig.session.resume().await;
    let turn = rig.collect_until(is_idle).await;
    assert_eq!(
        turn.answer(),
        "Still watching `new/**/*.rs`: 1 file matches.\n\n"
    );
}

#[tokio::test]
async fn a_bad_glob_ends_the_turn_with_its_reason() {
    let mut rig = Rig::new(&[]).await;
    for (glob, words) in [
        ("../*", "leads out of the workspace"),
        ("/etc/*", "absolute path"),
        ("src/[a", "is not a glob"),
    ] {
        let turn = rig.play(&format!("/watch {glob}")).await;
        assert_failed(turn.only_call().1, words);
        let answer = turn.answer();
        assert!(
            answer.starts_with("Not watched: ") && answer.contains(words),
            "{answer}"
        );
        assert_eq!(turn.stop_reason(), StopReason::EndTurn);
    }
}

#[tokio::test]
async fn reminder_of_a_client_is_reported() {
    let mut rig = Rig::new(&[]).await;
    watch(&mut rig, "*").await;
    let (mode, reminder) = (
        DeliveryMode::FinishStep,
        SystemReminder::new("", "Lunch is ready"),
    );
    rig.session.remind(mode, reminder, actor()).await.unwrap();
    let turn = rig.collect_until(is_idle).await;
    assert_eq!(turn.answer(), "Reminded: Lunch is ready\n\n");
}

struct Book(Arc<Policy>);

impl RuleBook for Book {
    fn policy(&self, _: &Path) -> Result<Arc<Policy>, PolicyError> {
        Ok(self.0.clone())
    }

    fn grants(&self, _: &Path) -> Result<Vec<Grant>, PolicyError> {
        Ok(Vec::new())
    }

    fn can_remember(&self) -> bool {
        false
    }

    fn remember(&self, _: &Grant, _: Timestamp) -> Result<(), PolicyError> {
        Ok(())
    }

    fn revoke(&self, _: &str) -> Result<bool, PolicyError> {
        Ok(false)
    }
}

fn fixed_rules(rules: &str) -> Arc<Book> {
    let rules = ToolApprovalPolicy::from_toml("rules", rules).and_then(|rules| rules.compile());
    Arc::new(Book(Arc::new(rules.unwrap())))
}

#[tokio::test]
async fn watch_does_not_count_unreadable_files() {
    let rules = "[[rules]]\ndeny = { path = [\".env\", \"secret/*\"] }";
    let files = [(".env", "one\n"), ("secret/key", "two\n"), ("a", "three\n")];
    // Existing and missing files look the same.
    for glob in [".env", ".envy", "secret/k*", "secret/none"] {
        let mut rig = Rig::with_config(&files, |config| config.rules = fixed_rules(rules)).await;
        let opening = watch(&mut rig, glob).await;
        let (_, end) = opening.only_call();
        assert_eq!(end.raw_output.as_ref().unwrap()["files"], 0, "{glob}");
        let sum = format!("`{glob}`: no file matches yet");
        assert!(format!("{:?}", end.content).contains(&sum), "{end:?}");
        let answer = opening.answer();
        assert!(answer.starts_with(&format!("Watching {sum}.")), "{answer}");
    }
    let mut rig = Rig::with_config(&files, |config| config.rules = fixed_rules(rules)).await;
    let opening = watch(&mut rig, "**").await;
    assert!(
        opening
            .answer()
            .starts_with("Watching `**`: 1 file matches."),
        "{}",
        opening.answer()
    );
    put(&rig, "secret/more", "four\n");
    put(&rig, "b", "five\n");
    assert_eq!(collect_changes(&mut rig).await.answer(), "Created `b`.\n\n");
    rig.session.resume().await;
    let turn = rig.collect_until(is_idle).await;
    assert_eq!(turn.answer(), "Still watching `**`: 2 files match.\n\n");
}

#[tokio::test]
async fn watch_does_not_report_unreadable_files() {
    let book = fixed_rules("[[rules]]\ndeny = { path = \"secret/*\" }");
    let files = [
        ("secret/key", "one\n"),
        ("secret/old", "two\n"),
        ("a", "three\n"),
    ];
    let mut rig = Rig::with_config(&files, |config| config.rules = book).await;
    watch(&mut rig, "**").await;
    put(&rig, "secret/key", "swordfish\n");
    put(&rig, "secret/new", "swordfish\n");
    fs::remove_file(rig.path_of("secret/old")).unwrap();
    put(&rig, "a", "changed\n");
    let mut seen = collect_changes(&mut rig).await;
    // By now the watch has received every change, in one burst or several.
    say(&rig, "/unwatch").await;
    seen.events.extend(rig.finish().await.events);
    let journal = format!("{:?}", seen.events);
    assert!(journal.contains("Changed `a`."), "{journal}");
    assert!(!journal.contains("secret"), "{journal}");

    let book = self::fixed_rules("[[rules]]\ndeny = { tool = \"watch_files\" }");
    let mut rig = Rig::with_config(&files, |config| config.rules = book).await;
    let turn = rig.play("/watch **").await;
    assert!(
        turn.answer().starts_with("Not watched: "),
        "{}",
        turn.answer()
    );
}
