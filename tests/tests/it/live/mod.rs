//! Several clients on one live session, over separate connections and over one.

mod concurrent_requests;
mod notifications;
mod takeovers;

use harn_acp::AcpConfig;
use harn_testkit::{Recorder, StrictClient, TestHub};
use harn_tests::initialize_params;
use serde_json::{Map, Value, json};

/// Connects a client that receives event ids.
async fn connect(test: &TestHub) -> StrictClient {
    let (hub, config) = (test.hub().clone(), AcpConfig::default());
    let mut client = StrictClient::in_memory(hub, config, Recorder::default());
    let wishes = Map::from_iter([("eventIds".to_owned(), json!(true))]);
    client
        .request("initialize", initialize_params(&wishes))
        .await;
    client
}

async fn open(client: &mut StrictClient, test: &TestHub) -> Value {
    let params = json!({"cwd": test.workspace(), "mcpServers": []});
    client.request("session/new", params).await["sessionId"].take()
}

fn load_params(session: &Value, test: &TestHub) -> Value {
    json!({"sessionId": session, "cwd": test.workspace(), "mcpServers": []})
}

async fn prompt(client: &mut StrictClient, session: &Value, text: &str) -> Value {
    let blocks = json!([{"type": "text", "text": text}]);
    let params = json!({"sessionId": session, "prompt": blocks});
    client.send_request("session/prompt", params).await
}
