//! Joins terminal control sequences that an agent splits over two chunks of a message: the second chunk gets the whole
//! sequence. Each chunk can then be shown alone, and translation needs no state.

use harn_model::{AgentEvent, MessageId, unfinished_sequence};

/// The maximum length of the start of a sequence that is retained. Links have addresses of up to two thousand bytes;
/// longer text is no sequence, or one that never ends, and must not hide the rest of a message.
const LONGEST: usize = 2 * 1024;

/// The start of a sequence at the end of the current message.
#[derive(Default)]
pub(crate) struct SplitSequence {
    /// Empty if there is none.
    text: String,
    /// The id of the message, if the agent gave one.
    message_id: Option<MessageId>,
}

impl SplitSequence {
    /// Returns an event with the text retained before it; returns nothing if all of it is retained.
    pub(crate) fn pass(
        &mut self,
        mut event: AgentEvent,
    ) -> impl Iterator<Item = AgentEvent> + use<> {
        let (mut before, mut is_held) = (None, false);
        if let AgentEvent::AgentMessageChunk {
            content,
            message_id,
        } = &mut event
        {
            if self.message_id != *message_id {
                before = self.release();
            }
            if !self.text.is_empty() {
                content.insert_str(0, &std::mem::take(&mut self.text));
            }
            let rest = unfinished_sequence(content).filter(|at| content.len() - at <= LONGEST);
            if let Some(at) = rest {
                self.text = content.split_off(at);
                self.message_id.clone_from(message_id);
                is_held = content.is_empty();
            }
        } else if event.ends_message() || matches!(event, AgentEvent::AgentThoughtChunk { .. }) {
            before = self.release();
        }
        before.into_iter().chain((!is_held).then_some(event))
    }

    /// Returns the retained text because the message ends here.
    fn release(&mut self) -> Option<AgentEvent> {
        let (content, message_id) = (std::mem::take(&mut self.text), self.message_id.take());
        (!content.is_empty()).then_some(AgentEvent::AgentMessageChunk {
            content,
            message_id,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass_all(events: &[&str]) -> Vec<String> {
        let mut split = SplitSequence::default();
        let events = events.iter().map(|text| match *text {
            "<plan>" => AgentEvent::Plan {
                plan: harn_model::Plan::Entries(Vec::new()),
            },
            "<thought>" => AgentEvent::AgentThoughtChunk {
                content: String::new(),
                message_id: None,
            },
            text => match text.split_once('@') {
                Some((text, id)) => AgentEvent::AgentMessageChunk {
                    content: text.to_owned(),
                    message_id: Some(id.into()),
                },
                None => AgentEvent::message(text),
            },
        });
        let passed: Vec<_> = events.flat_map(|event| split.pass(event)).collect();
        let shown = passed.into_iter().map(|event| match event {
            AgentEvent::AgentMessageChunk {
                content,
                message_id,
            } => format!(
                "{content}{}",
                message_id.map_or(String::new(), |id| format!("@{id}"))
            ),
            AgentEvent::AgentThoughtChunk { .. } => "<thought>".to_owned(),
            _ => "<plan>".to_owned(),
        });
        shown.collect()
    }

    #[test]
    fn second_chunk_contains_the_whole_split_sequence() {
        assert_eq!(
            pass_all(&["a\u{1b}[", "32mgreen"]),
            ["a", "\u{1b}[32mgreen"]
        );
        assert_eq!(pass_all(&["\u{1b}", "[3", "2mgreen"]), ["\u{1b}[32mgreen"]);
        assert_eq!(pass_all(&["", "a"]), ["", "a"]);
        let passing = ["a\u{1b}[", "<plan>", "1mb"];
        assert_eq!(pass_all(&passing), ["a", "<plan>", "\u{1b}[1mb"]);
        let named = ["a\u{1b}[@m", "1mb@m"];
        assert_eq!(pass_all(&named), ["a@m", "\u{1b}[1mb@m"]);
    }

    #[test]
    fn the_end_of_a_message_releases_its_sequence() {
        let thought = ["a\u{1b}[", "<thought>", "Hello"];
        assert_eq!(pass_all(&thought), ["a", "\u{1b}[", "<thought>", "Hello"]);
        let other = ["a\u{1b}[@m", "Hello@n"];
        assert_eq!(pass_all(&other), ["a@m", "\u{1b}[@m", "Hello@n"]);
    }

    #[test]
    fn unfinished_sequence_is_retained_up_to_a_limit() {
        let long = format!("\u{1b}]{}", "x".repeat(LONGEST));
        assert_eq!(pass_all(&[&long, "y"]), [&long, "y"]);
        let halves = [&long[..LONGEST], &long[LONGEST..]];
        assert_eq!(pass_all(&halves), [long]);
    }
}
