//! Who is on the session, and who is in control of it.

use serde_json::Value;

use super::Screen;
use crate::cli::attach::{measure::tame_line, transcript::Mark};

impl Screen {
    /// Somebody came, left, or took over.
    pub(super) fn client_changed(&mut self, harn: &Value) {
        let Some(state) = harn.get("state") else {
            return;
        };
        let name = |name: &str| Some(state.get(name)?.as_str()?.to_owned());
        let before = self.controller.take();
        self.controller = name("active_controller_id");
        let client = state.get("client");
        let who = client.and_then(|client| Some(client.get("client_id")?.as_str()?.to_owned()));
        let action = harn.get("action").and_then(Value::as_str);
        let lost = before.as_deref() == Some(&self.me) && !self.in_control();
        if lost {
            // They are put to whoever controls it now.
            self.questions.clear();
            self.answering = false;
        }
        let words = match (action, who) {
            (Some("takeover"), Some(who)) if who == self.me => match name("previous_controller_id")
            {
                Some(before) if before != self.me => format!("you took over from {before}"),
                _ => "you took over".to_owned(),
            },
            (Some("takeover"), Some(who)) if lost => format!("{who} took over from you"),
            (Some("takeover"), Some(who)) => format!("{who} took over"),
            (Some("attached"), Some(who)) if who == self.me => return,
            (Some("attached"), Some(who)) => match self.controller.as_ref() == Some(&who) {
                true => format!("{who} controls the session"),
                false => format!("{who} watches"),
            },
            (Some("detached"), _) => match before {
                Some(gone) if self.controller.is_none() => {
                    format!("{gone} left; nobody controls it")
                }
                // Who watches comes and goes.
                _ => return,
            },
            _ => return,
        };
        self.note(Mark::Note, tame_line(&words));
    }
}
