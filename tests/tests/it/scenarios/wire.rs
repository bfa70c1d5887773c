//! What a client can do over any wire. Knows none.

use harn_model::SessionId;
use harn_testkit::TestHub;

use crate::scenarios::heard::Heard;

/// An answer to a question about a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Once,
    Always,
    Reject,
}

/// A client that speaks one wire.
///
/// Its methods panic with what came instead when something comes that has no place in the protocol.
pub(crate) trait Wire: Sized {
    /// A conversation, as its client remembers it: enough to come back to it over another connection.
    type Talk;

    /// A new connection to the hub.
    async fn connect(test: &TestHub) -> Self;

    /// Begins a conversation.
    async fn begin(&mut self) -> Self::Talk;

    /// Says something, and does not wait for what comes of it.
    async fn prompt(&mut self, talk: &mut Self::Talk, words: &str);

    /// Waits until the turn is over, or until it waits for a decision that was not told before: the turn as
    /// far as it has come, from its beginning.
    async fn heard(&mut self, talk: &mut Self::Talk) -> Heard;

    /// Answers the question that was heard last.
    async fn answer(&mut self, talk: &mut Self::Talk, answer: Answer);

    /// Has the turn stop, and does not wait until it has.
    async fn cancel(&mut self, talk: &mut Self::Talk);

    /// Comes back to a conversation: the turns it had, as it is told of them now.
    async fn past(&mut self, talk: &mut Self::Talk) -> Vec<Heard>;

    /// Goes, whatever is still said.
    async fn leave(self);
}

/// A wire on which one can come to a session that was begun elsewhere.
pub(crate) trait Enter: Wire {
    /// The conversation that this session is.
    fn talk_of(session: &SessionId) -> Self::Talk;
}

/// Says something and waits for what comes of it.
pub(crate) async fn ask<W: Wire>(wire: &mut W, talk: &mut W::Talk, words: &str) -> Heard {
    wire.prompt(talk, words).await;
    wire.heard(talk).await
}

/// Answers the question that was heard last, and waits for what comes of it.
pub(crate) async fn decide<W: Wire>(wire: &mut W, talk: &mut W::Talk, answer: Answer) -> Heard {
    wire.answer(talk, answer).await;
    wire.heard(talk).await
}
