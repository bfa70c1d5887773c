//! A search does not find files that a rule forbids to read.

use std::{fs, sync::Arc};

use harn_engines::ExploreAgent;
use harn_model::{AgentEvent, ContentBlock, Envelope};
use harn_runtime::{Controller, NewSession};
use harn_testkit::{MemoryRules, TestHub};
use harn_tools::{DiskProbe, LocalHost};

async fn run_turn(session: &Controller, text: &str) -> Vec<Envelope> {
    let mut from = session.subscribe_from_now();
    let prompt = vec![ContentBlock::text(text)];
    session.prompt(prompt, |_| ()).await.unwrap();
    let mut seen = Vec::new();
    loop {
        let delivery = from.next().await.unwrap();
        seen.extend_from_slice(delivery.events());
        let ended = |e: &Envelope| matches!(e.event, AgentEvent::TurnEnded(_));
        if seen.iter().any(ended) {
            return seen;
        }
    }
}

/// Returns all journalled events of a turn as text, without the prompt and the title.
fn serialize_events(events: &[Envelope]) -> String {
    let told = events.iter().filter(|e| {
        !matches!(
            e.event,
            AgentEvent::TurnStarted(_) | AgentEvent::SessionInfo(_)
        )
    });
    told.map(|e| serde_json::to_string(&e.event).unwrap())
        .collect()
}

#[tokio::test]
async fn search_does_not_find_denied_files() {
    for (rules, hidden) in [
        (
            "[[rules]]\ndeny = { path = [\"secret/*\", \"*.pem\"] }",
            true,
        ),
        (
            "[[rules]]\nask = { path = [\"secret/*\", \"*.pem\"] }",
            true,
        ),
        ("[[rules]]\ndeny = { path = \"other/*\" }", false),
        ("", false),
    ] {
        let book = MemoryRules::new(rules);
        let test = TestHub::builder(ExploreAgent::new())
            .config(move |config| {
                config.rules = book.clone();
                config.probe = Arc::new(DiskProbe);
                config.local_host = Arc::new(LocalHost::new());
            })
            .build();
        let cwd = test.workspace();
        fs::create_dir_all(cwd.join("secret")).unwrap();
        fs::write(cwd.join("secret/token.txt"), "the token is swordfish\n").unwrap();
        fs::write(cwd.join("key.pem"), "swordfish token\n").unwrap();
        fs::write(cwd.join("readme.txt"), "a token opens the door\n").unwrap();
        let new = NewSession {
            cwd,
            additional_directories: Vec::new(),
        };
        let session = test.hub().create(new).await.unwrap();
        for prompt in [
            "/grep token",
            "/find token",
            "/explore-all token",
            "Where is the token?",
        ] {
            let told = serialize_events(&run_turn(&session, prompt).await);
            assert!(told.contains("opens the door"), "{rules} {prompt}: {told}");
            assert_eq!(
                !told.contains("swordfish"),
                hidden,
                "{rules} {prompt}: {told}"
            );
        }
    }
}
