//! A client of threads and turns that reads every line in order and fails on any line that the test does not
//! expect.

use std::ops::{Deref, DerefMut};

use harn_threads::ThreadsConfig;
use serde_json::{Value, json};

use crate::{MessageFromAgent, StrictClient, TestHub, link::TestLink};

/// A [`StrictClient`] of a threads server in this process, with the rules of that wire.
///
/// # Panics
///
/// As the methods of [`StrictClient`].
pub struct ThreadsClient(StrictClient);

impl Deref for ThreadsClient {
    type Target = StrictClient;

    fn deref(&self) -> &StrictClient {
        &self.0
    }
}

impl DerefMut for ThreadsClient {
    fn deref_mut(&mut self) -> &mut StrictClient {
        &mut self.0
    }
}

impl TestHub {
    /// Connects a client of threads and turns in memory; its threads work in the workspace.
    #[must_use]
    pub fn connect_threads(&self) -> ThreadsClient {
        let config = ThreadsConfig {
            alone: false,
            directory: self.workspace(),
            version: "0.0.0".to_owned(),
        };
        let link = TestLink::threads(self.hub().clone(), config);
        ThreadsClient(StrictClient::from_link(
            link,
            self.recorder().clone(),
            check,
        ))
    }
}

fn check(message: &MessageFromAgent) -> Result<(), &'static str> {
    match message {
        MessageFromAgent::Notification { method, params }
            if params["notification"] != method.as_str() =>
        {
            Err("the params of the last line do not repeat its method")
        }
        MessageFromAgent::Request { .. } => Err("the server must not send requests on this wire"),
        MessageFromAgent::Notification { .. } | MessageFromAgent::Response { .. } => Ok(()),
    }
}

impl ThreadsClient {
    /// Expects this notification as the next line and returns its params.
    pub async fn expect(&mut self, expected: &str) -> Value {
        self.expect_notification(expected).await
    }

    /// Expects an `item.started` of this type as the next line and returns the item.
    pub async fn expect_item(&mut self, kind: &str) -> Value {
        let mut params = self.expect("item.started").await;
        if params["item"]["type"] != kind {
            self.fail(&format!("the last line does not start a {kind}"));
        }
        params["item"].take()
    }

    /// Reads up to the end of the running turn, expects only notifications and returns them, the end last.
    pub async fn read_until_turn_ends(&mut self) -> Vec<Value> {
        let mut told = Vec::new();
        loop {
            match self.next().await {
                MessageFromAgent::Notification { method, params } => {
                    told.push(params);
                    if method == "turn.completed" || method == "turn.error" {
                        return told;
                    }
                }
                MessageFromAgent::Response { .. } | MessageFromAgent::Request { .. } => {
                    self.fail("the last line is not a notification");
                }
            }
        }
    }

    /// Creates a thread in the workspace and returns its id.
    pub async fn create(&mut self) -> String {
        let id = self.send_request("thread.create", json!({})).await;
        let created = self.expect("thread.created").await;
        let answer = self.expect_response(&id).await;
        if answer["thread"]["threadId"] != created["threadId"] {
            self.fail("`thread.created` has another id than the response");
        }
        created["threadId"].as_str().unwrap_or_default().to_owned()
    }

    /// Starts a turn with text, reads up to the response and returns the turn's id.
    pub async fn start(&mut self, thread: &str, text: &str) -> String {
        let input = json!([{"type": "text", "text": text}]);
        let params = json!({"threadId": thread, "input": input});
        let id = self.send_request("turn.start", params).await;
        let started = self.expect("turn.started").await;
        let answer = self.expect_response(&id).await;
        if answer["turnId"] != started["turnId"] {
            self.fail("`turn.started` has another id than the response");
        }
        started["turnId"].as_str().unwrap_or_default().to_owned()
    }

    /// Like [`ThreadsClient::start`], and reads the item of the user's message.
    pub async fn start_turn(&mut self, thread: &str, text: &str) -> String {
        let turn = self.start(thread, text).await;
        self.expect_item("user_message").await;
        self.expect("item.completed").await;
        turn
    }

    /// Closes the connection like [`StrictClient::close`].
    pub async fn close(self) {
        self.0.close().await;
    }

    /// Closes the input, reads to the end and returns the remaining messages.
    pub async fn hang_up(mut self) -> Vec<MessageFromAgent> {
        self.end_input();
        let mut rest = Vec::new();
        while let Some(line) = self.read().await {
            rest.push(self.accept_line(&line));
        }
        self.check_all_answered();
        self.wait_until_ended().await;
        rest
    }
}
