//! The text of a worker's replies in a cycle, up to a limit.

use harn_model::MessageId;

/// How many bytes are retained; the rest is in the worker's journal.
const KEPT: usize = 256 * 1024;

/// The end of the reply text, with messages separated by blank lines.
#[derive(Default)]
pub(super) struct ReplyTail {
    text: String,
    message: Option<MessageId>,
    cut: bool,
}

impl ReplyTail {
    pub(super) fn add(&mut self, chunk: &str, message: Option<&MessageId>) {
        if self.message.as_ref() != message {
            if !self.text.is_empty() {
                self.text.push_str("\n\n");
            }
            self.message = message.cloned();
        }
        self.text.push_str(chunk);
        // Cut in steps, because otherwise every chunk would move the whole text.
        if self.text.len() > 2 * KEPT {
            self.trim_to_limit();
        }
    }

    /// Returns the text, and whether its start is missing.
    pub(super) fn finish(mut self) -> (String, bool) {
        self.trim_to_limit();
        (self.text, self.cut)
    }

    /// Retains only the end, which contains the answer.
    fn trim_to_limit(&mut self) {
        if self.text.len() > KEPT {
            let mut from = self.text.len() - KEPT;
            while !self.text.is_char_boundary(from) {
                from += 1;
            }
            self.text.drain(..from);
            self.cut = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reply_tail_separates_messages_and_keeps_the_end() {
        let mut said = ReplyTail::default();
        let (one, two) = (MessageId::from("m1"), MessageId::from("m2"));
        said.add("Hel", Some(&one));
        said.add("lo.", Some(&one));
        said.add("Done.", Some(&two));
        assert_eq!(said.finish(), ("Hello.\n\nDone.".to_owned(), false));

        let mut said = ReplyTail::default();
        for _ in 0..5 {
            said.add(&"é".repeat(KEPT / 4), Some(&one));
        }
        said.add("end", Some(&one));
        let (text, cut) = said.finish();
        assert!(cut && text.len() <= KEPT && text.ends_with("éend"));
    }
}
