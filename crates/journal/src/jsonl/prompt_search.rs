//! Finds out whether a log contains a prompt, without decoding events.
//!
//! Listings need this for every session they show. The first prompt is near the beginning of a log, and a log
//! without one is short, so one block is enough for most logs.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use harn_model::AgentEvent;
use memchr::memmem;

/// The beginning of the event of a line that is a prompt. A quote inside a text is escaped, so no text matches.
const PROMPTS: [&[u8]; 2] = [
    br#""event":{"type":"turn_started""#,
    br#""event":{"type":"prompt_queued""#,
];
const BLOCK: usize = 8_192;
/// The bytes kept from a block, because a prompt may begin in it and end in the next.
const OVERLAP: usize = 64;

pub(crate) fn is_prompt(event: &AgentEvent) -> bool {
    matches!(
        event,
        AgentEvent::TurnStarted(_) | AgentEvent::PromptQueued(_)
    )
}

/// Whether the log at this path contains a prompt.
pub(super) fn has_prompt(path: &Path) -> io::Result<bool> {
    find_prompt(File::open(path)?)
}

fn find_prompt(mut log: impl Read) -> io::Result<bool> {
    let mut block = vec![0; BLOCK];
    let mut kept = 0;
    loop {
        let read = match log.read(&mut block[kept..]) {
            Ok(0) => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => kept + read?,
        };
        let found = |prompt: &&[u8]| memmem::find(&block[..read], prompt).is_some();
        if PROMPTS.iter().any(found) {
            return Ok(true);
        }
        let from = read.saturating_sub(OVERLAP);
        block.copy_within(from..read, 0);
        kept = read - from;
    }
}

#[cfg(test)]
mod tests {
    use harn_model::{ContentBlock, Envelope, Seq, TurnStarted};

    use super::{super::line, *};

    fn log(events: impl IntoIterator<Item = AgentEvent>) -> Vec<u8> {
        let mut log = Vec::new();
        for (seq, event) in (1..).zip(events) {
            let envelope = Envelope {
                seq: Seq(seq),
                at: 7,
                turn: Some("t".into()),
                event,
            };
            line::encode(&mut log, &envelope).unwrap();
        }
        log
    }

    fn prompt() -> Box<TurnStarted> {
        Box::new(TurnStarted {
            message_id: "m".into(),
            prompt: vec![ContentBlock::text("Where is the door?")],
            live_session: None,
        })
    }

    #[test]
    fn prompt_is_found_at_any_offset() {
        for before in (0..2 * BLOCK).step_by(61) {
            let mode_id = "m".repeat(before);
            let mode = AgentEvent::ModeChanged { mode_id };
            let events = log([mode, AgentEvent::TurnStarted(prompt())]);
            assert!(find_prompt(&events[..]).unwrap(), "{before}");
        }
        let queued = log([AgentEvent::PromptQueued(prompt())]);
        assert!(find_prompt(&queued[..]).unwrap());
    }

    #[test]
    fn text_that_looks_like_a_prompt_is_ignored() {
        let looks_like = log([AgentEvent::TurnStarted(prompt())]);
        let looks_like = String::from_utf8(looks_like).unwrap();
        let events = log([AgentEvent::message(looks_like)]);
        assert!(!find_prompt(&events[..]).unwrap());
        assert!(!find_prompt(&[][..]).unwrap());
    }
}
