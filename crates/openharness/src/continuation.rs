//! The ids of runs and the tokens for positions in them, which a Shell receives and sends back.

use harn_model::{Seq, SessionId, TurnId};

/// A position in a run: the next report starts after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunCursor {
    pub(crate) session: SessionId,
    /// The turn that is the run.
    pub(crate) turn: TurnId,
    /// The last event that was reported.
    pub(crate) after: Seq,
}

const RUN: &str = "run_";
const TOKEN: &str = "ctok_";

impl RunCursor {
    /// Returns the id of the run.
    pub(crate) fn run_id(&self) -> String {
        format!("{RUN}{}.{}", self.session, self.turn)
    }

    /// Returns the token for the position.
    pub(crate) fn token(&self) -> String {
        format!("{TOKEN}{}.{}.{}", self.session, self.turn, self.after)
    }

    /// Parses the position from either text; none if a text was never issued, or if they name different runs.
    /// A run id alone is the beginning of the run.
    pub(crate) fn parse(run_id: Option<&str>, token: Option<&str>) -> Option<Self> {
        let run = match run_id {
            Some(text) => Some(Self::from_run_id(text)?),
            None => None,
        };
        let place = match token {
            Some(text) => Some(Self::from_token(text)?),
            None => None,
        };
        match (run, place) {
            (Some(run), Some(place)) => {
                let same = run.session == place.session && run.turn == place.turn;
                same.then_some(place)
            }
            (run, place) => place.or(run),
        }
    }

    fn from_run_id(text: &str) -> Option<Self> {
        let (session, turn) = text.strip_prefix(RUN)?.split_once('.')?;
        Self::from_parts(session, turn, Seq::ZERO)
    }

    fn from_token(text: &str) -> Option<Self> {
        let mut parts = text.strip_prefix(TOKEN)?.split('.');
        let (session, turn, after) = (parts.next()?, parts.next()?, parts.next()?);
        let after = after.parse().ok()?;
        match parts.next() {
            None => Self::from_parts(session, turn, Seq(after)),
            Some(_) => None,
        }
    }

    fn from_parts(session: &str, turn: &str, after: Seq) -> Option<Self> {
        let letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let plain = |text: &str| matches!(text.len(), 1..=128) && text.bytes().all(letter);
        (plain(session) && plain(turn)).then(|| Self {
            session: SessionId::from(session),
            turn: TurnId::new(turn),
            after,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_survives_a_round_trip() {
        let place = RunCursor {
            session: "oh_1".into(),
            turn: TurnId::new("trn_2"),
            after: Seq(7),
        };
        let (run, token) = (place.run_id(), place.token());
        assert_eq!((&*run, &*token), ("run_oh_1.trn_2", "ctok_oh_1.trn_2.7"));
        assert_eq!(
            RunCursor::parse(Some(&run), Some(&token)),
            Some(place.clone())
        );
        assert_eq!(RunCursor::parse(None, Some(&token)), Some(place.clone()));
        let beginning = RunCursor {
            after: Seq::ZERO,
            ..place
        };
        assert_eq!(RunCursor::parse(Some(&run), None), Some(beginning));
    }

    #[test]
    fn text_that_was_never_issued_is_no_cursor() {
        let wrong = [
            "",
            "run_",
            "run_a",
            "ctok_a.b",
            "ctok_a.b.c",
            "ctok_a.b.1.2",
            "run_7d2",
            "run_../a.b",
            "run_a/b.c",
            "ctok_a.b.99999999999999999999",
        ];
        for text in wrong {
            assert_eq!(RunCursor::parse(Some(text), None), None, "{text}");
            assert_eq!(RunCursor::parse(None, Some(text)), None, "{text}");
        }
        assert_eq!(RunCursor::parse(Some("run_a.b"), Some("ctok_a.c.1")), None);
        assert_eq!(RunCursor::parse(None, None), None);
    }
}
