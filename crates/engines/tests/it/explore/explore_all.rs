//! `/explore-all`: one worker per folder, one answer.

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt};

use harn_model::{
    AgentEvent, ContentBlock, Plan, PlanEntryStatus, StopReason, WorkerEvent, WorkerUpdate,
};
use harn_runtime::{Hub, SessionFilter};

use crate::explore::test_session::{Rig, Turn, assert_failed};

const FILES: &[(&str, &str)] = &[
    ("README.md", "# Fruit\n\nAn apple a day.\n"),
    (".gitignore", "/target/\n"),
    (".hidden/a.rs", "apple apple apple\n"),
    ("target/out.rs", "apple apple apple\n"),
    (
        "crates/store.rs",
        "/// Keeps an apple.\npub fn apple() {}\n",
    ),
    ("crates/deep/pie.rs", "// apple pie\n"),
    ("docs/guide.md", "Pears only.\n"),
];

/// Returns the last event of each worker, by name.
fn last_events(turn: &Turn) -> BTreeMap<&str, WorkerEvent> {
    let ends = turn.workers().into_iter();
    let ends = ends.filter(|update| update.event.is_terminal());
    ends.map(|update| (update.worker_name.as_str(), update.event))
        .collect()
}

fn spawn_updates(turn: &Turn) -> Vec<&WorkerUpdate> {
    let steps = turn.workers().into_iter();
    steps
        .filter(|update| update.event == WorkerEvent::WorkerSpawned)
        .collect()
}

/// Returns the maximum number of workers that ran at a time.
fn max_running_workers(turn: &Turn) -> usize {
    let (mut now, mut most) = (0_usize, 0);
    for update in turn.workers() {
        now = if update.event.is_running() {
            now + 1
        } else {
            now - 1
        };
        most = most.max(now);
    }
    most
}

fn plan_entries(turn: &Turn) -> Vec<String> {
    let last = turn.events.iter().rev().find_map(|event| match event {
        AgentEvent::Plan {
            plan: Plan::Entries(entries),
        } => Some(entries),
        _ => None,
    });
    last.into_iter()
        .flatten()
        .map(|entry| entry.content.clone())
        .collect()
}

async fn count_sessions(hub: &Hub) -> usize {
    hub.list(SessionFilter::default(), None)
        .await
        .unwrap()
        .sessions
        .len()
}

#[tokio::test]
async fn one_worker_per_folder_yields_one_answer() {
    let mut rig = Rig::new(FILES).await;
    let turn = rig.play("/explore-all apple").await;
    assert_eq!(turn.stop_reason(), StopReason::EndTurn);

    let done = WorkerEvent::WorkerCompleted;
    let expected = [("crates", done), ("docs", done), ("top-level files", done)];
    assert_eq!(last_events(&turn), BTreeMap::from(expected));
    let tasks: Vec<_> = spawn_updates(&turn)
        .iter()
        .map(|w| &*w.worker_task)
        .collect();
    let expected = [
        "Search crates/ for \"apple\"",
        "Search docs/ for \"apple\"",
        "Search top-level files for \"apple\"",
    ];
    assert_eq!(tasks, expected);

    let answer = turn.answer();
    let place = |text: &str| answer.find(text).unwrap_or_else(|| panic!("{answer}"));
    let (defined, pie) = (
        place("`crates/store.rs:2`"),
        place("`crates/deep/pie.rs:1`"),
    );
    let readme = place("`README.md:3`");
    assert!(defined < pie && defined < readme, "{answer}");
    assert!(
        answer.ends_with("\n\nSearched 4 files in 2 folders and the top level."),
        "{answer}"
    );
    for hidden in [".hidden", "target"] {
        assert!(!answer.contains(hidden), "{answer}");
    }

    assert_eq!(
        plan_entries(&turn),
        [
            "Search crates/",
            "Search docs/",
            "Search top-level files",
            "Merge the best matches"
        ]
    );
    let plans = turn.plans();
    assert_eq!(plans[0][..], [PlanEntryStatus::Pending; 4]);
    assert_eq!(plans[1][..3], [PlanEntryStatus::InProgress; 3]);
    assert_eq!(plans[1][3], PlanEntryStatus::Pending);
    assert_eq!(plans.last().unwrap()[..], [PlanEntryStatus::Completed; 4]);
}

/// The same excerpts in the same order as a search of the whole workspace.
#[tokio::test]
async fn hits_have_the_order_of_a_single_search() {
    let mut rig = Rig::new(FILES).await;
    let one = rig.play("apple pie").await.answer();
    let all = rig.play("/explore-all apple pie").await.answer();
    let places = |answer: &str| -> Vec<String> {
        let items = answer.lines().filter(|line| line.contains(". `"));
        items.map(str::to_owned).collect()
    };
    assert!(places(&one).len() >= 3, "{one}");
    assert_eq!(places(&all), places(&one));
}

#[tokio::test]
async fn worker_reports_its_folder_in_its_own_session() {
    let mut rig = Rig::new(FILES).await;
    let turn = rig.play("/explore-all apple").await;
    assert_eq!(count_sessions(&rig.hub).await, 1, "workers are not listed");
    let crates = spawn_updates(&turn)[0]
        .metadata
        .child_run_id
        .clone()
        .unwrap();
    let child = rig.hub.open(&crates, None).await.unwrap();
    assert_eq!(child.meta().directory, rig.path_of("crates"));
    let mut events = child.subscribe(harn_model::Seq::ZERO);
    let mut said = String::new();
    while !said.contains("pie") {
        for envelope in events.next().await.unwrap().events() {
            if let AgentEvent::AgentMessageChunk { content, .. } = &envelope.event {
                said.push_str(content);
            }
        }
    }
    let expected = "- `crates/store.rs:2` — `pub fn apple() {}`\n\
                    - `crates/deep/pie.rs:1` — `// apple pie`\n";
    assert_eq!(said, expected);
    assert!(!turn.answer().contains("- `crates/store.rs"), "said once");
}

#[tokio::test]
async fn answer_covers_one_folder_no_folder_and_no_hits() {
    let mut rig = Rig::new(&[("only/a.txt", "apple\n")]).await;
    let turn = rig.play("/explore-all apple").await;
    assert_eq!(last_events(&turn).len(), 1);
    assert!(turn.answer().contains("`only/a.txt:1`"));
    assert!(turn.answer().ends_with("Searched 1 file in 1 folder."));

    let mut rig = Rig::new(&[("a.txt", "apple\n")]).await;
    let turn = rig.play("/explore-all apple").await;
    let answer = turn.answer();
    assert!(
        answer.ends_with("Searched 1 file in the workspace, which has no folders."),
        "{answer}"
    );

    let mut rig = Rig::new(&[]).await;
    let turn = rig.play("/explore-all apple").await;
    assert!(turn.workers().is_empty() && turn.plans().is_empty());
    assert_eq!(
        turn.answer(),
        "There is nothing to search in this workspace."
    );

    let mut rig = Rig::new(FILES).await;
    let turn = rig.play("/explore-all zebra").await;
    let answer = turn.answer();
    assert!(
        answer.starts_with("Nothing in this workspace mentions `zebra`."),
        "{answer}"
    );
    assert!(
        answer.ends_with("in 2 folders and the top level."),
        "{answer}"
    );
    let turn = rig.play("/explore-all ?!").await;
    assert!(turn.workers().is_empty(), "there is no word to look for");
    let turn = rig.play("/explore-all").await;
    assert!(
        turn.answer()
            .starts_with("`/explore-all` needs an argument")
    );
}

#[tokio::test]
async fn many_folders_run_eight_at_a_time_and_share_plan_entries() {
    let names: Vec<_> = (0..200).map(|n| format!("f{n:03}/a.txt")).collect();
    let files: Vec<_> = names
        .iter()
        .map(|name| (name.as_str(), "apple\n"))
        .collect();
    let mut rig = Rig::new(&files).await;
    let turn = rig.play("/explore-all apple").await;
    assert_eq!(last_events(&turn).len(), 200);
    assert!(
        max_running_workers(&turn) <= 8,
        "{}",
        max_running_workers(&turn)
    );
    let answer = turn.answer();
    assert!(
        answer.ends_with("Searched 200 files in 200 folders."),
        "{answer}"
    );
    let entries = plan_entries(&turn);
    assert_eq!(entries.len(), 30);
    assert_eq!(entries[0], "Search f000/ to f006/ (7 in all)");
    assert_eq!(entries[28], "Search f196/ to f199/ (4 in all)");
    assert!(turn.plans().len() <= 60, "{}", turn.plans().len());
}

#[tokio::test]
async fn search_respects_a_lower_worker_limit() {
    let names: Vec<_> = (0..9).map(|n| format!("f{n}/a.txt")).collect();
    let files: Vec<_> = names
        .iter()
        .map(|name| (name.as_str(), "apple\n"))
        .collect();
    let mut rig = Rig::with_config(&files, |config| config.max_workers = 2).await;
    let turn = rig.play("/explore-all apple").await;
    assert_eq!(max_running_workers(&turn), 2);
    assert!(turn.answer().ends_with("Searched 9 files in 9 folders."));
}

#[tokio::test]
async fn failed_folders_are_named_with_the_reason() {
    let mut rig = Rig::with_config(FILES, |config| config.max_worker_depth = 0).await;
    let turn = rig.play("/explore-all apple").await;
    assert_eq!(turn.stop_reason(), StopReason::EndTurn);
    let why = "workers are nested 0 deep already, which is the limit";
    assert_eq!(
        turn.answer(),
        format!(
            "Nothing could be searched. Not searched: `crates/` ({why}), `docs/` ({why}) and \
             `top-level files` ({why})."
        )
    );
    let plans = turn.plans();
    assert_eq!(plans.last().unwrap()[..], [PlanEntryStatus::Completed; 4]);
}

/// A deleted or unreadable workspace is not an empty one.
#[tokio::test]
async fn unreadable_workspace_is_reported_with_the_reason() {
    let mut rig = Rig::new(FILES).await;
    fs::remove_dir_all(rig.path_of("")).unwrap();
    let why = "the folder cannot be read: No such file or directory (os error 2)";
    let turn = rig.play("/explore-all apple").await;
    assert_failed(turn.only_call().1, why);
    assert_eq!(turn.answer(), format!("Not listed: {why}."));
    let grep = rig.play("/grep apple").await;
    assert_eq!(grep.answer(), format!("Not searched: {why}."));
}

/// A folder that cannot be read fails its worker; the others answer. For a user who may read everything, such as
/// root, no worker fails.
#[tokio::test]
async fn unreadable_folder_fails_only_its_worker() {
    let mut rig = Rig::new(FILES).await;
    rig.put("locked/a.txt", "apple\n");
    let locked = rig.path_of("locked");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    let readable = fs::read_dir(&locked).is_ok();
    let turn = rig.play("/explore-all apple").await;
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o700)).unwrap();
    let answer = turn.answer();
    assert!(answer.contains("`crates/store.rs:2`"), "{answer}");
    if readable {
        assert!(
            answer.ends_with("in 3 folders and the top level."),
            "{answer}"
        );
        return;
    }
    assert_eq!(last_events(&turn)["locked"], WorkerEvent::WorkerFailed);
    let expected = "Searched 4 files in 2 folders and the top level. Not searched: `locked/` (the folder \
                    cannot be read: Permission denied (os error 13)).";
    assert!(answer.ends_with(expected), "{answer}");
}

#[tokio::test]
async fn a_cancel_ends_every_worker() {
    let names: Vec<_> = (0..200).map(|n| format!("f{n:03}/a.txt")).collect();
    let files: Vec<_> = names
        .iter()
        .map(|name| (name.as_str(), "apple\n"))
        .collect();
    let mut rig = Rig::new(&files).await;
    let id = rig
        .begin(vec![ContentBlock::text("/explore-all apple")])
        .await;
    let mut turn = rig
        .collect_until(|event| matches!(event, AgentEvent::WorkerUpdate(_)))
        .await;
    rig.session.cancel(id).await;
    turn.events.extend(rig.finish().await.events);
    assert_eq!(turn.stop_reason(), StopReason::Cancelled);
    let started = spawn_updates(&turn).len();
    assert!(started < 200, "it was cancelled in the middle");
    assert_eq!(last_events(&turn).len(), started, "nobody is left at work");
}
