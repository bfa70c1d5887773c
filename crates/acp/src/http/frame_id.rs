//! The id of a line in a stream of the streamable transport: the `id` of its frame.
//!
//! An event line has its event id. Any other line has the id of the event line before it, a plus, and its
//! number.

use std::{fmt, str::FromStr};

use crate::{BadEventId, EventId};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SseFrameId {
    /// The last event line up to this line.
    pub(super) event: EventId,
    /// Zero for the event line itself.
    pub(super) number: u64,
}

impl SseFrameId {
    /// Whether a client that has received this line has also received the other: the number counts all lines of
    /// a stream that are not events, and each was sent right behind the event that it names.
    pub(super) fn covers(self, other: Self) -> bool {
        match (self.number, other.number) {
            (0, 0) => other.event <= self.event,
            (0, _) => other.event < self.event,
            (_, 0) => other.event <= self.event,
            (seen, other) => other <= seen,
        }
    }
}

impl From<EventId> for SseFrameId {
    fn from(event: EventId) -> Self {
        Self { event, number: 0 }
    }
}

impl fmt::Display for SseFrameId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            0 => self.event.fmt(f),
            number => write!(f, "{}+{number}", self.event),
        }
    }
}

impl FromStr for SseFrameId {
    type Err = BadEventId;

    fn from_str(text: &str) -> Result<Self, BadEventId> {
        let Some((event, number)) = text.split_once('+') else {
            return Ok(Self::from(text.parse::<EventId>()?));
        };
        let plain = number.bytes().all(|byte| byte.is_ascii_digit()) && !number.starts_with('0');
        let number = number.parse().ok().filter(|_| plain);
        Ok(Self {
            event: event.parse()?,
            number: number.ok_or(BadEventId)?,
        })
    }
}
