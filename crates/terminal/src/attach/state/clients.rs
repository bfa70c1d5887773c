//! The clients of the session, and the controller among them.

use harn_acp::client::LiveClientFields;
use harn_model::LiveClientAction;
use serde_json::value::RawValue;

use super::{AttachScreen, ConnectionStatus};
use crate::attach::{
    protocol::parse_client_change, screen_text::escape_line, transcript::NoteLevel,
};

impl AttachScreen {
    /// Handles a client that attached, detached or took over.
    pub(super) fn apply_client_change(&mut self, change: LiveClientFields<'_>) {
        use LiveClientAction::{Attached, Detached, Takeover};
        let state = change.state.into_owned();
        let drove = self.is_controller();
        let before = self.controller.take();
        self.controller = state.active_controller_id;
        if before != self.controller {
            self.drop_outdated_notice();
        }
        let who = state.client.map(|client| client.client_id);
        if who.as_ref() == Some(&self.me) {
            self.replaced = false;
        }
        let lost = drove && !self.is_controller();
        if lost {
            self.clear_questions();
        }
        let nobody = self.controller.is_none();
        let words = match (change.action, who) {
            (Takeover, Some(who)) if who == self.me => match state.previous_controller_id {
                Some(before) if before != self.me => format!("you took over from {before}"),
                _ => "you took over".to_owned(),
            },
            (Takeover, Some(who)) if lost => format!("{who} took over from you"),
            (Takeover, Some(who)) => format!("{who} took over"),
            // A client without a name.
            (Takeover, None) if lost => "another client took over from you".to_owned(),
            (Attached, Some(who)) if who == self.me => match self.link {
                ConnectionStatus::Up if lost && nobody => {
                    "you gave up control; no client has it".to_owned()
                }
                _ => return,
            },
            (Attached, Some(who)) => match self.controller.as_ref() == Some(&who) {
                true => format!("{who} controls the session"),
                false if nobody && before.as_ref() == Some(&who) => {
                    format!("{who} gave up control; no client has it")
                }
                false => format!("{who} watches"),
            },
            (Detached, _) => match change.left.map(|left| left.into_owned().client_id) {
                Some(gone) if gone == self.me && self.link == ConnectionStatus::Up => {
                    "the server received nothing from you for too long; attaching again".to_owned()
                }
                Some(gone) if nobody && before.as_ref() == Some(&gone) => {
                    format!("{gone} left; no client controls the session")
                }
                // Observers that leave are not shown.
                _ => return,
            },
            _ => return,
        };
        self.transcript
            .add_note(NoteLevel::Note, escape_line(&words));
    }

    /// Handles another client that replaced us under our name.
    pub(super) fn handle_replacement(&mut self, params: &RawValue) {
        let drove = self.is_controller();
        let change = parse_client_change(params);
        self.controller = change.and_then(|it| it.state.into_owned().active_controller_id);
        self.replaced = true;
        self.drop_outdated_notice();
        self.clear_questions();
        let words = match drove {
            true => {
                "another client attached under your name, and controls the session in your place"
            }
            false => "another client attached under your name",
        };
        self.transcript.add_note(NoteLevel::Warning, words);
    }

    /// Handles a rejection that states that we do not control the session.
    pub(super) fn handle_not_controller(&mut self, controller: Option<String>) {
        // A controller with our name is then another client.
        self.replaced = controller.as_ref() == Some(&self.me);
        self.controller = controller;
        self.clear_questions();
    }
}
