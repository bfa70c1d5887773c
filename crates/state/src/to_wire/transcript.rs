//! The messages in order, with the queued ones after all others.

use std::sync::Arc;

use harn_model::{ContentBlock, LiveAuthor, MessageId, Timestamp, TurnStarted, plain_text};

use super::Document;
use crate::{
    changes::{DocumentChanges, at},
    wire::{DocumentMessage, MessageRole, MessageStatus},
};

/// The agent's message in progress. Each step has its own, so that a call belongs to the text before it.
#[derive(Clone)]
pub(super) struct OpenMessage {
    pub(super) index: usize,
    /// The ids of its thought and its text in the log.
    thought: Option<MessageId>,
    text: Option<MessageId>,
    /// Whether the agent made a call: its next text is another message.
    pub(super) acted: bool,
}

/// A message of a user to the agent.
pub(super) struct UserWords<'a> {
    id: &'a MessageId,
    content: &'a [ContentBlock],
    /// The client that sent it, if it has a name.
    author: Option<&'a LiveAuthor>,
    /// Whether it was sent during a run.
    steer: bool,
}

impl<'a> UserWords<'a> {
    pub(super) fn from_prompt(prompt: &'a TurnStarted) -> Self {
        Self {
            id: &prompt.message_id,
            content: &prompt.prompt,
            author: prompt.live_session.as_deref(),
            steer: false,
        }
    }

    pub(super) fn from_steering(
        id: &'a MessageId,
        content: &'a [ContentBlock],
        author: Option<&'a LiveAuthor>,
    ) -> Self {
        Self {
            id,
            content,
            author,
            steer: true,
        }
    }
}

impl Document {
    /// Adds text or a thought to the agent's message, or begins another message.
    pub(super) fn add_agent_text(
        &mut self,
        id: Option<&MessageId>,
        text: &str,
        is_thought: bool,
        at: Timestamp,
        out: &mut DocumentChanges,
    ) {
        let goes_on = self.open.as_ref().is_some_and(|open| {
            let before = if is_thought {
                &open.thought
            } else {
                &open.text
            };
            let same = before.is_none() || id.is_none() || before.as_ref() == id;
            // A thought after text belongs to the next message.
            let fits = !is_thought || self.state.messages[open.index].content.is_empty();
            !open.acted && fits && same
        });
        let index = self.message_to_extend(goes_on, id, at, out);
        if let Some(OpenMessage { thought, text, .. }) = &mut self.open {
            let known = if is_thought { thought } else { text };
            *known = known.take().or_else(|| id.cloned());
        }
        let message = self.message(index);
        let (field, name) = match is_thought {
            true => (&mut message.thought, "thought"),
            false => (&mut message.content, "content"),
        };
        field.push_str(text);
        out.append(at!["messages", index, name], text);
    }

    /// Returns the message to extend, or a new one, and marks it as streaming.
    fn message_to_extend(
        &mut self,
        goes_on: bool,
        id: Option<&MessageId>,
        at: Timestamp,
        out: &mut DocumentChanges,
    ) -> usize {
        match &self.open {
            Some(open) if goes_on => {
                let index = open.index;
                self.set_message_status(index, MessageStatus::Streaming, out);
                index
            }
            Some(_) | None => {
                let name = id.map_or("message", MessageId::as_str);
                self.begin_message(name, MessageStatus::Streaming, at, out)
            }
        }
    }

    /// Begins a message of the agent, after the settled messages and before the queued ones.
    pub(super) fn begin_message(
        &mut self,
        name: &str,
        status: MessageStatus,
        at: Timestamp,
        out: &mut DocumentChanges,
    ) -> usize {
        self.end_message(MessageStatus::Complete, out);
        let message = DocumentMessage {
            id: self.unique_id(name),
            role: MessageRole::Assistant,
            content: String::new(),
            status,
            tool_calls: Some(Vec::new()),
            at,
            thought: String::new(),
            notes: Vec::new(),
            steer: None,
            author: None,
        };
        let index = self.insert(message, out);
        self.open = Some(OpenMessage {
            index,
            thought: None,
            text: None,
            acted: false,
        });
        index
    }

    /// Ends the message in progress.
    pub(super) fn end_message(&mut self, status: MessageStatus, out: &mut DocumentChanges) {
        if let Some(open) = self.open.take() {
            self.set_message_status(open.index, status, out);
        }
    }

    /// Settles a queued message, or inserts it if it was not queued.
    pub(super) fn settle_or_insert(
        &mut self,
        words: UserWords<'_>,
        status: MessageStatus,
        at: Timestamp,
        out: &mut DocumentChanges,
    ) {
        if !self.settle(words.id.as_str(), status, out) {
            let message = self.user_message(&words, status, at);
            self.insert(message, out);
        }
    }

    /// Adds a message that has not reached the agent yet.
    pub(super) fn queue_message(
        &mut self,
        words: UserWords<'_>,
        at: Timestamp,
        out: &mut DocumentChanges,
    ) {
        let message = self.user_message(&words, MessageStatus::Pending, at);
        self.state.messages.push(Arc::new(message));
        self.report_messages_from(self.state.messages.len() - 1, out);
    }

    /// Replaces the text of a queued message.
    pub(super) fn reword(&mut self, id: &str, text: String, out: &mut DocumentChanges) {
        if let Some(index) = self.queued_index(id) {
            let message = self.message(index);
            message.content = text;
            out.set(
                at!["messages", index, "content"],
                &self.state.messages[index].content,
            );
        }
    }

    /// Moves a queued message behind the settled ones. Returns whether it was queued.
    pub(super) fn settle(
        &mut self,
        id: &str,
        status: MessageStatus,
        out: &mut DocumentChanges,
    ) -> bool {
        let Some(index) = self.queued_index(id) else {
            return false;
        };
        let message = self.message(index);
        message.status = status;
        let place = self.settled;
        self.settled += 1;
        if index == place {
            out.set(at!["messages", index, "status"], &status);
        } else {
            let message = self.state.messages.remove(index);
            self.state.messages.insert(place, message);
            self.report_messages_between(place, index + 1, out);
        }
        true
    }

    /// Settles queued steering messages as failed: they will never reach the agent.
    pub(super) fn settle_steers(&mut self, out: &mut DocumentChanges) {
        let waiting = self.state.messages[self.settled..].iter();
        let steers = waiting.filter(|message| message.steer == Some(true));
        let steers: Vec<_> = steers.map(|message| message.id.clone()).collect();
        for id in steers {
            self.settle(&id, MessageStatus::Error, out);
        }
    }

    pub(super) fn message(&mut self, index: usize) -> &mut DocumentMessage {
        Arc::make_mut(&mut self.state.messages[index])
    }

    /// Inserts a message after the settled ones and before the queued ones.
    fn insert(&mut self, message: DocumentMessage, out: &mut DocumentChanges) -> usize {
        let index = self.settled;
        self.state.messages.insert(index, Arc::new(message));
        self.settled += 1;
        self.report_messages_from(index, out);
        index
    }

    fn report_messages_from(&self, first: usize, out: &mut DocumentChanges) {
        self.report_messages_between(first, self.state.messages.len(), out);
    }

    fn report_messages_between(&self, first: usize, end: usize, out: &mut DocumentChanges) {
        for (index, message) in self.state.messages[..end].iter().enumerate().skip(first) {
            out.set(at!["messages", index], message);
        }
    }

    pub(super) fn set_message_status(
        &mut self,
        index: usize,
        status: MessageStatus,
        out: &mut DocumentChanges,
    ) {
        if self.state.messages[index].status != status {
            self.message(index).status = status;
            out.set(at!["messages", index, "status"], &status);
        }
    }

    /// Returns the index of a queued message.
    fn queued_index(&self, id: &str) -> Option<usize> {
        let waiting = &self.state.messages[self.settled..];
        let found = waiting.iter().position(|message| message.id == id);
        found.map(|at| self.settled + at)
    }

    fn user_message(
        &mut self,
        words: &UserWords<'_>,
        status: MessageStatus,
        at: Timestamp,
    ) -> DocumentMessage {
        DocumentMessage {
            id: self.unique_id(words.id.as_str()),
            role: MessageRole::User,
            content: plain_text(words.content),
            status,
            tool_calls: None,
            at,
            thought: String::new(),
            notes: Vec::new(),
            steer: Some(words.steer),
            author: Some(words.author.map(|author| author.client_id.clone())),
        }
    }

    /// Returns an id that no other message has. The ids of the runtime are unique; an agent may choose its own.
    fn unique_id(&mut self, name: &str) -> String {
        let mut id = name.to_owned();
        while self.names.contains_key(&id) {
            let given = self.names.entry(name.to_owned()).or_insert(1);
            *given += 1;
            id = format!("{name}-{given}");
        }
        self.names.insert(id.clone(), 1);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::SessionFacts;

    #[test]
    fn repeated_ids_are_made_unique() {
        let mut document = Document::new(SessionFacts::default());
        let names = ["m", "m", "m-2", "m", "m-2", "n"].map(|name| document.unique_id(name));
        assert_eq!(names, ["m", "m-2", "m-2-2", "m-3", "m-2-3", "n"]);
        // Each one tries the next number, and not all before it.
        for _ in 0..100_000 {
            document.unique_id("m");
        }
        assert_eq!(document.unique_id("m"), "m-100004");
    }
}
