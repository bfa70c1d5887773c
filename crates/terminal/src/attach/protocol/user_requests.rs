//! The user's actions on the session, as messages.

use harn_lines::rpc::RpcMessage;
use serde_json::{Value, json};

use super::{AttachProtocol, HEARTBEAT, RequestPurpose};

impl AttachProtocol {
    /// Sends a prompt and returns its request id.
    pub(in crate::attach) fn prompt(&mut self, text: &str) -> u64 {
        let prompt = json!([{"type": "text", "text": text}]);
        let params = json!({"sessionId": self.session(), "prompt": prompt});
        self.request(
            RequestPurpose::Prompt(text.to_owned()),
            "session/prompt",
            params,
        )
    }

    /// Sends a message to a working agent: for its next seam, or as its next prompt when it is done.
    pub(in crate::attach) fn inject(&mut self, steer: bool, text: &str) {
        let mode = if steer { "steer" } else { "queue" };
        let params = json!({"sessionId": self.session(), "mode": mode, "content": text});
        let text = text.to_owned();
        self.request(
            RequestPurpose::Inject { steer, text },
            "session/inject",
            params,
        );
    }

    pub(in crate::attach) fn cancel(&mut self) {
        let params = json!({"sessionId": self.session()});
        self.queue_message(&RpcMessage::notification("session/cancel", params));
    }

    /// Takes control from any other controller.
    pub(in crate::attach) fn take_over(&mut self) {
        let params = json!({"sessionId": self.session(), "clientId": self.me});
        self.request(RequestPurpose::Takeover, "session/takeover", params);
    }

    /// Gives up control and continues as observer.
    pub(in crate::attach) fn hand_back(&mut self) {
        let params = self.attach_params(false, None);
        self.request(RequestPurpose::HandBack, "session/attach", params);
    }

    pub(super) fn attach_params(&self, control: bool, after: Option<String>) -> Value {
        let mode = if control { "controller" } else { "observer" };
        let mut params = json!({
            "sessionId": self.session(),
            "clientId": self.me,
            "mode": mode,
            "metadata": {"surface": "terminal"},
        });
        if let Some(after) = after {
            params["lastEventId"] = after.into();
        }
        if self.promises {
            params["heartbeatSeconds"] = HEARTBEAT.into();
        }
        params
    }

    /// Sends a heartbeat, if our name refers to us and heartbeats are on.
    pub(in crate::attach) fn send_heartbeat(&mut self) {
        if !self.known || !self.promises {
            return;
        }
        let params = json!({"sessionId": self.session(), "clientId": self.me});
        self.request(RequestPurpose::Heartbeat, "session/heartbeat", params);
    }

    /// Detaches, if our name refers to us.
    pub(in crate::attach) fn detach(&mut self) {
        if !self.known {
            return;
        }
        let params = json!({"sessionId": self.session(), "clientId": self.me});
        self.request(RequestPurpose::Heartbeat, "session/detach", params);
    }

    pub(in crate::attach) fn answer(&mut self, id: &Value, result: &Value) {
        self.queue_message(&RpcMessage::answer(id, result));
    }
}
