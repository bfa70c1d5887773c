//! Who is on the session, and who is in control of it.

use serde_json::{Value, value::RawValue};

use super::{Link, Screen};
use crate::attach::{measure::tame_line, talk::harn, transcript::Mark};

impl Screen {
    /// Somebody came, left, or took over.
    pub(super) fn client_changed(&mut self, harn: &Value) {
        let Some(state) = harn.get("state") else {
            return;
        };
        let name = |name: &str| Some(state.get(name)?.as_str()?.to_owned());
        let client = |of: Option<&Value>| Some(of?.get("client_id")?.as_str()?.to_owned());
        let drove = self.in_control();
        let before = self.controller.take();
        self.controller = name("active_controller_id");
        if before != self.controller {
            self.changed();
        }
        let who = client(state.get("client"));
        let action = harn.get("action").and_then(Value::as_str);
        if who.as_ref() == Some(&self.me) {
            self.replaced = false;
        }
        let lost = drove && !self.in_control();
        if lost {
            self.ask_no_more();
        }
        let nobody = self.controller.is_none();
        let words = match (action, who) {
            (Some("takeover"), Some(who)) if who == self.me => match name("previous_controller_id")
            {
                Some(before) if before != self.me => format!("you took over from {before}"),
                _ => "you took over".to_owned(),
            },
            (Some("takeover"), Some(who)) if lost => format!("{who} took over from you"),
            (Some("takeover"), Some(who)) => format!("{who} took over"),
            // A connection without a name.
            (Some("takeover"), None) if lost => "somebody else took over from you".to_owned(),
            (Some("attached"), Some(who)) if who == self.me => match self.link {
                Link::Up if lost && nobody => "you gave up control; nobody has it".to_owned(),
                _ => return,
            },
            (Some("attached"), Some(who)) => match self.controller.as_ref() == Some(&who) {
                true => format!("{who} controls the session"),
                false if nobody && before.as_ref() == Some(&who) => {
                    format!("{who} gave up control; nobody has it")
                }
                false => format!("{who} watches"),
            },
            (Some("detached"), _) => match client(harn.get("left")) {
                Some(gone) if gone == self.me && self.link == Link::Up => {
                    "you were not heard of for too long, and come back".to_owned()
                }
                Some(gone) if nobody && before.as_ref() == Some(&gone) => {
                    format!("{gone} left; nobody controls it")
                }
                // Who watches comes and goes.
                _ => return,
            },
            _ => return,
        };
        self.note(Mark::Note, tame_line(&words));
    }

    /// Somebody else has come under our name, and in our place.
    pub(super) fn replaced(&mut self, params: &RawValue) {
        let drove = self.in_control();
        let params: Option<Value> = serde_json::from_str(params.get()).ok();
        let now = params.as_ref().and_then(|params| {
            let state = harn(params.get("update")?)?.get("state")?;
            Some(state.get("active_controller_id")?.as_str()?.to_owned())
        });
        self.controller = now;
        self.replaced = true;
        self.changed();
        self.ask_no_more();
        let words = match drove {
            true => "somebody else came under your name, and controls it in your place",
            false => "somebody else came under your name",
        };
        self.note(Mark::Warning, words);
    }

    /// We were told that we are not in control.
    pub(super) fn not_controller(&mut self, controller: Option<String>) {
        // Then it is not we who go by our name.
        self.replaced = controller.as_ref() == Some(&self.me);
        self.controller = controller;
        self.ask_no_more();
    }

    /// Questions are put to whoever controls it now.
    fn ask_no_more(&mut self) {
        self.questions.clear();
        self.answering = false;
    }
}
