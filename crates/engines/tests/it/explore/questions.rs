//! Questions: the agent plans, searches, reads and answers.

use std::os::unix::fs::symlink;

use harn_model::{
    ContentBlock,
    PlanEntryStatus::{Completed, InProgress, Pending},
    Resource, ResourceLink, StopReason, ToolCallStatus, ToolKind,
};
use harn_runtime::PromptError;

use crate::explore::test_session::{Rig, assert_failed, shown_text};

const STORE: &str = "\
//! Where apples are kept.

use std::io;

/// Puts an apple into the cellar. It stays there until winter.
pub fn store_apple(apple: Apple) -> io::Result<()> {
    cellar().push(apple)
}
";

#[tokio::test]
async fn question_is_answered_with_excerpts() {
    let mut rig = Rig::new(&[
        ("src/store.rs", STORE),
        ("src/other.rs", "fn other() {}\n"),
        ("docs/fruit.md", "# Fruit\n\nAn apple is round.\n"),
    ])
    .await;
    let turn = rig.play("Where are apples stored?").await;

    assert_eq!(turn.stop_reason(), StopReason::EndTurn);
    let titles = turn.titles();
    assert_eq!(titles[0], "Search for \"apples stored\"");
    assert_eq!(titles[1], "Read src/store.rs:6");
    let kinds: Vec<_> = turn.calls().iter().map(|call| call.kind).collect();
    assert_eq!(kinds[0], Some(ToolKind::Search));
    assert!(kinds[1..].iter().all(|kind| *kind == Some(ToolKind::Read)));

    let calls = turn.calls();
    let end = turn.final_update(calls[0]);
    assert_eq!(end.status, ToolCallStatus::Completed);
    let raw = end.raw_output.as_ref().unwrap();
    assert_eq!(raw["files_searched"], 3);
    assert_eq!(raw["hits"][0]["path"], "src/store.rs");
    assert_eq!(raw["hits"][0]["line"], 6);
    assert!(
        shown_text(end).contains("- `src/store.rs:6`"),
        "{}",
        shown_text(end)
    );
    let location = &end.locations.as_ref().unwrap()[0];
    assert_eq!(
        location.path,
        rig.path_of("src/store.rs").display().to_string()
    );
    assert_eq!(location.line, Some(6));
    assert_eq!(calls[1].locations[0].line, Some(6));
    assert_eq!(
        turn.final_update(calls[1]).status,
        ToolCallStatus::Completed
    );

    let answer = turn.answer();
    assert!(
        answer.contains("The words `apples` and `stored` appear most"),
        "{answer}"
    );
    let item = "1. `src/store.rs:6` — Puts an apple into the cellar.\n\n   ```rust\n   pub fn store_apple(";
    assert!(answer.contains(item), "{answer}");
    assert!(answer.contains("a text search, not a model"), "{answer}");
    assert!(
        turn.pieces().len() >= 4,
        "an answer comes in pieces: {:?}",
        turn.pieces()
    );
}

#[tokio::test]
async fn a_plan_shows_the_progress() {
    let mut rig = Rig::new(&[("a.rs", STORE)]).await;
    let turn = rig.play("apple").await;
    let expected = [
        [InProgress, Pending, Pending],
        [Completed, InProgress, Pending],
        [Completed, Completed, InProgress],
        [Completed, Completed, Completed],
    ];
    assert_eq!(turn.plans(), expected);
}

#[tokio::test]
async fn a_name_is_found_where_it_is_defined() {
    let mut rig = Rig::new(&[
        ("src/store.rs", STORE),
        (
            "src/use.rs",
            "store_apple(a); store_apple(b); store_apple(c);\n",
        ),
    ])
    .await;
    let turn = rig.play("what does store_apple do").await;
    let answer = turn.answer();
    assert!(
        answer.starts_with("`store_apple` is defined in the first"),
        "{answer}"
    );
    assert!(
        answer.contains("1. `src/store.rs:6` — Puts an apple"),
        "{answer}"
    );
}

#[tokio::test]
async fn answer_names_words_without_hits() {
    let mut rig = Rig::new(&[("src/store.rs", STORE)]).await;
    let turn = rig.play("Where is the unicorn?").await;
    assert_eq!(turn.stop_reason(), StopReason::EndTurn);
    let answer = turn.answer();
    assert!(
        answer.contains("Nothing in this workspace mentions `unicorn`"),
        "{answer}"
    );
    assert!(
        answer.contains("/grep") && answer.contains("/find"),
        "{answer}"
    );
    assert_eq!(turn.plans().last().unwrap(), &[Completed; 3]);

    let turn = rig.play("Do apples feed the unicorn?").await;
    let answer = turn.answer();
    assert!(
        answer.contains("The word `apples` appears most"),
        "{answer}"
    );
    assert!(
        answer.contains("nothing mentions `feed` and `unicorn`"),
        "{answer}"
    );
}

#[tokio::test]
async fn results_option_limits_the_excerpts() {
    let files: Vec<_> = (0..9)
        .map(|n| (format!("f{n}.txt"), "an apple\n"))
        .collect();
    let files: Vec<_> = files
        .iter()
        .map(|(path, text)| (path.as_str(), *text))
        .collect();
    let mut rig = Rig::new(&files).await;
    for (value, expected) in [(None, 5), (Some("3"), 3), (Some("8"), 8)] {
        if let Some(value) = value {
            rig.session.set_option("results", value).await.unwrap();
        }
        let turn = rig.play("apple").await;
        assert_eq!(turn.answer().matches(".txt:1`").count(), expected);
        let reads = turn
            .titles()
            .iter()
            .filter(|title| title.starts_with("Read"))
            .count();
        assert_eq!(reads, expected.min(4));
    }
    assert!(rig.session.set_option("results", "4").await.is_err());
}

#[tokio::test]
async fn question_without_words_is_answered_with_the_readme() {
    let readme = "# Orchard\n\n[![badge](x)](y)\n\nAn orchard keeps\napples.\n\nMore.\n";
    let mut rig = Rig::new(&[("README.md", readme), ("src/a.rs", "")]).await;
    let turn = rig.play("What is this project about?").await;
    assert_eq!(turn.titles(), ["List the workspace", "Read README.md"]);
    let answer = turn.answer();
    assert!(
        answer.contains("`README.md` begins:\n\n> An orchard keeps apples."),
        "{answer}"
    );
    assert!(
        answer.contains("The workspace contains `README.md` and `src/`"),
        "{answer}"
    );

    let mut bare = Rig::new(&[]).await;
    let turn = bare.play("what is this?").await;
    assert!(
        turn.answer().contains("no visible files"),
        "{}",
        turn.answer()
    );
}

fn link(uri: String) -> ContentBlock {
    ContentBlock::ResourceLink(ResourceLink {
        uri,
        name: "a link".to_owned(),
        mime_type: None,
        title: None,
        description: None,
        size: None,
    })
}

#[tokio::test]
async fn linked_files_are_read_first() {
    let mut rig = Rig::new(&[("src/store.rs", STORE), ("b.txt", "an apple\n")]).await;
    let store = rig.path_of("src/store.rs").display().to_string();
    let blocks = vec![
        ContentBlock::text("how are apples stored in "),
        link(format!("file://{store}")),
        link("file:///etc/hostname".to_owned()),
        link("https://example.org/".to_owned()),
    ];
    let turn = rig.play_blocks(blocks).await;
    let titles = turn.titles();
    assert_eq!(titles[0], "Read src/store.rs");
    assert_eq!(titles[1], "Read /etc/hostname");
    assert!(titles[2].starts_with("Search for"), "{titles:?}");
    assert_failed(
        turn.final_update(turn.calls()[1]),
        "outside the session's directories",
    );
    let answer = turn.answer();
    let first =
        "In the attachments of the question:\n\n1. `src/store.rs:1` — Where apples are kept.";
    assert!(answer.starts_with(first), "{answer}");
    assert!(
        answer.contains("Not read: /etc/hostname is outside the session's directories"),
        "{answer}"
    );
    assert!(
        answer.contains("`https://example.org/` is not a text"),
        "{answer}"
    );
    assert!(answer.contains("in the workspace:\n"), "{answer}");
    assert_eq!(turn.plans()[0].len(), 4);

    let turn = rig
        .play_blocks(vec![link(format!("file://{store}#L8"))])
        .await;
    assert_eq!(turn.titles(), ["Read src/store.rs:8"]);
    assert!(
        turn.answer().contains("1. `src/store.rs:8`"),
        "{}",
        turn.answer()
    );
}

#[tokio::test]
async fn embedded_text_is_searched_too() {
    let mut rig = Rig::new(&[("b.txt", "pears\n")]).await;
    let resource = |uri: &str, text: Option<&str>| {
        ContentBlock::Resource(Resource {
            uri: uri.to_owned(),
            mime_type: None,
            text: text.map(str::to_owned),
            blob: text.is_none().then(|| "AAAA".to_owned()),
        })
    };
    let blocks = vec![
        ContentBlock::text("where is the plum?"),
        resource("untitled:1", Some("one\ntwo plums\nthree\n")),
        resource("untitled:2", None),
    ];
    let turn = rig.play_blocks(blocks).await;
    let answer = turn.answer();
    assert!(answer.contains("1. `untitled:1:2`"), "{answer}");
    assert!(answer.contains("two plums"), "{answer}");
    assert!(answer.contains("`untitled:2` is not a text"), "{answer}");
    assert!(
        answer.contains("Nothing in this workspace mentions `plum`"),
        "{answer}"
    );

    let image = ContentBlock::Image {
        mime_type: "image/png".to_owned(),
        data: "AAAA".to_owned(),
        uri: None,
    };
    let refused = rig.session.prompt(vec![image], |_| ()).await;
    assert!(matches!(
        refused,
        Err(PromptError::Unsupported { kind: "image" })
    ));
}

#[tokio::test]
async fn nothing_outside_the_workspace_is_found() {
    let mut rig = Rig::new(&[("src/a.rs", "fn a() {}\n")]).await;
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.txt"), "the unicorn\n").unwrap();
    symlink(outside.path(), rig.path_of("out")).unwrap();
    symlink(outside.path().join("secret.txt"), rig.path_of("leak.txt")).unwrap();
    for prompt in ["where is the unicorn?", "/find unicorn"] {
        let turn = rig.play(prompt).await;
        assert!(
            turn.answer().contains("Nothing in this workspace"),
            "{}",
            turn.answer()
        );
    }
    let turn = rig.play("/grep unicorn").await;
    assert_eq!(turn.answer(), "No line matches `unicorn`.");
    let turn = rig.play("/read leak.txt").await;
    assert!(
        turn.answer().contains("outside the session's directories"),
        "{}",
        turn.answer()
    );
}
