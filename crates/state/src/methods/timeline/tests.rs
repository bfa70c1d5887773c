//! A timeline over HTTP.

use axum::http::header;
use harn_model::{AgentEvent, Principal};
use serde_json::Value;

use super::{
    super::tests::{read_response, run_session},
    *,
};

fn sample_events() -> Vec<AgentEvent> {
    vec![
        AgentEvent::message("One "),
        AgentEvent::message("thing."),
        AgentEvent::thought("Hm."),
        AgentEvent::message("Another \u{1FAA3} thing."),
    ]
}

async fn get(hub: &Hub, query: &str) -> (u16, Value) {
    let (status, body) = read_response(respond(hub.clone(), query).await).await;
    (status, serde_json::from_str(&body).unwrap())
}

fn titles(page: &Value) -> Vec<&str> {
    let rows = page["rows"].as_array().unwrap().iter();
    rows.map(|row| row["title"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn pages_add_up_to_the_timeline() {
    let (hub, id) = run_session(sample_events()).await;
    let (status, whole) = get(hub.hub(), &format!("session={id}")).await;
    assert_eq!(status, 200);
    let all = [
        "Prompt: Go.",
        "One thing.",
        "Hm.",
        "Another 🪣 thing.",
        "Title: Go.",
        "The turn ended",
    ];
    assert_eq!(titles(&whole), all);
    assert_eq!(whole["next"], Value::Null);
    assert_eq!(whole["last"], 7);
    let row = &whole["rows"][1];
    assert_eq!(row["kind"], "text");
    assert_eq!((&row["seq"], &row["turn"]), (&2.into(), &"turn-1".into()));

    let (mut after, mut told) = (0, Vec::new());
    loop {
        let (_, page) = get(hub.hub(), &format!("session={id}&limit=2&after={after}")).await;
        told.extend(page["rows"].as_array().unwrap().clone());
        match page["next"].as_u64() {
            Some(next) => after = next,
            None => break,
        }
    }
    assert_eq!(Value::from(told), whole["rows"]);

    let (_, found) = get(hub.hub(), &format!("session={id}&q=%F0%9F%AA%A3+THING&x=1")).await;
    assert_eq!(titles(&found), ["Another 🪣 thing."]);
    // Nothing is new; a client that is ahead of the log receives the end of it.
    for after in ["7", "8", "18446744073709551615"] {
        let (_, tail) = get(hub.hub(), &format!("session={id}&after={after}")).await;
        assert_eq!((titles(&tail).len(), &tail["last"]), (0, &7.into()));
    }
}

#[tokio::test]
async fn a_page_is_json_that_is_not_cached() {
    let (hub, id) = run_session(sample_events()).await;
    let response = respond(hub.hub().clone(), &format!("session={id}"))
        .await
        .unwrap();
    assert_eq!(response.headers()[header::CONTENT_TYPE], "application/json");
    assert_eq!(response.headers()[header::CACHE_CONTROL], "no-store");
}

/// Also when the log is no longer in memory, and after a restart.
#[tokio::test]
async fn a_closed_session_is_opened() {
    let chatter = (0..5000).map(|n| AgentEvent::FsWatch {
        subscription_id: format!("watch-{n}"),
        events: Vec::new(),
    });
    let (mut hub, id) = run_session(chatter.chain(sample_events()).collect()).await;
    let query = format!("session={id}&limit=1000&after=4000");
    let (_, open) = get(hub.hub(), &query).await;
    assert_eq!((titles(&open).len(), &open["next"]), (1000, &5000.into()));
    hub.restart().await;
    assert!(hub.hub().live_session(&id).is_none());
    assert_eq!(get(hub.hub(), &query).await, (200, open));
    // A search that must read the whole log.
    let (_, found) = get(hub.hub(), &format!("session={id}&q=another")).await;
    assert_eq!(titles(&found), ["Another 🪣 thing."]);
}

#[tokio::test]
async fn a_session_is_hidden_from_other_principals() {
    let (hub, id) = run_session(sample_events()).await;
    let other = hub.hub().for_principal(Principal::new("mallory"));
    let (status, refused) = get(&other, &format!("session={id}")).await;
    assert_eq!(status, 404);
    assert_eq!(get(&other, "session=none").await, (404, refused.clone()));
    assert_eq!(get(&other, "session=..%2F..").await, (404, refused));
    hub.hub().close(&id).await;
    assert_eq!(get(&other, &format!("session={id}")).await.0, 404);
    assert_eq!(get(hub.hub(), &format!("session={id}")).await.0, 200);
}

#[tokio::test]
async fn a_bad_query_is_rejected_with_the_right_values() {
    let (hub, id) = run_session(Vec::new()).await;
    let id = format!("session={id}");
    let limit = "limit must be a whole number from 1 to 1000";
    let after = "after must be a whole number: `next` or `last` of another page, or 0";
    let cases = [
        (String::new(), "session must be the id of a session"),
        ("session=".to_owned(), "session must be the id of a session"),
        (format!("{id}&limit=0"), limit),
        (format!("{id}&limit=1001"), limit),
        (format!("{id}&limit=ten"), limit),
        (format!("{id}&limit="), limit),
        (format!("{id}&after=-1"), after),
        (format!("{id}&after=1.5"), after),
        (
            format!("{id}&after=1&after=2"),
            "after is given more than once; give it once",
        ),
        (
            format!("{id}&{id}"),
            "session is given more than once; give it once",
        ),
    ];
    for (query, words) in cases {
        let (status, body) = get(hub.hub(), &query).await;
        assert_eq!((status, &body["error"]), (400, &words.into()), "{query}");
    }
    assert_eq!(get(hub.hub(), &format!("{id}&limit=1000")).await.0, 200);
}
