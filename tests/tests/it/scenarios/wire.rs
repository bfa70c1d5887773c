//! The operations of a client that every wire supports. Depends on no wire.

use harn_model::SessionId;
use harn_testkit::TestHub;

use crate::scenarios::turns::Heard;

/// An answer to a permission request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Once,
    Always,
    Reject,
}

/// A client of one wire.
///
/// Its methods panic with the received message if it is not valid in the protocol.
pub(crate) trait Wire: Sized {
    /// The client's handle of a conversation: enough to continue it over another connection.
    type Talk;

    /// Connects to the hub.
    async fn connect(test: &TestHub) -> Self;

    async fn begin(&mut self) -> Self::Talk;

    /// Sends a prompt without waiting for its result.
    async fn prompt(&mut self, talk: &mut Self::Talk, words: &str);

    /// Waits until the turn is over, or until it waits for a decision that was not returned before; returns the
    /// turn from its beginning.
    async fn wait_for_turn(&mut self, talk: &mut Self::Talk) -> Heard;

    /// Answers the last permission request.
    async fn answer(&mut self, talk: &mut Self::Talk, answer: Answer);

    /// Cancels the turn without waiting for its end.
    async fn cancel(&mut self, talk: &mut Self::Talk);

    /// Opens a conversation again and returns its turns, as the history shows them.
    async fn load_turns(&mut self, talk: &mut Self::Talk) -> Vec<Heard>;

    /// Disconnects and drops the remaining messages.
    async fn leave(self);
}

/// A wire that can open sessions of other wires.
pub(crate) trait Enter: Wire {
    /// Returns the conversation of this session.
    fn talk_from_session(session: &SessionId) -> Self::Talk;
}

/// Sends a prompt and waits for the turn.
pub(crate) async fn prompt_and_wait<W: Wire>(
    wire: &mut W,
    talk: &mut W::Talk,
    words: &str,
) -> Heard {
    wire.prompt(talk, words).await;
    wire.wait_for_turn(talk).await
}

/// Answers the last permission request and waits for the turn.
pub(crate) async fn answer_and_wait<W: Wire>(
    wire: &mut W,
    talk: &mut W::Talk,
    answer: Answer,
) -> Heard {
    wire.answer(talk, answer).await;
    wire.wait_for_turn(talk).await
}
