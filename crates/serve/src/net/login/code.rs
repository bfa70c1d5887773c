//! The code that is shown at start: it signs in the owner, once and for a limited time.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use anyhow::Result;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokio::time::Instant;

use crate::net::token;

/// Long enough to find the browser, and over before old logs are read.
const LIFE: Duration = Duration::from_secs(10 * 60);
const RANDOM_BYTES: usize = 16;

/// A code, while it is valid. Only its hash is stored.
pub(in crate::net) struct LoginCode(Mutex<Option<ActiveLoginCode>>);

#[derive(Clone, Copy)]
struct ActiveLoginCode {
    sum: [u8; 32],
    ends: Instant,
}

impl LoginCode {
    /// Creates a code; returns it with its text, which the caller shows and drops.
    pub(in crate::net) fn generate() -> Result<(Self, String)> {
        let text = token::random_hex::<RANDOM_BYTES>()?;
        let open = ActiveLoginCode {
            sum: Sha256::digest(&text).into(),
            ends: now() + LIFE,
        };
        Ok((Self(Mutex::new(Some(open))), text))
    }

    /// Uses the code up; returns whether it is right and unused. A wrong one changes nothing.
    pub(super) fn take(&self, given: &str) -> bool {
        let given: [u8; 32] = Sha256::digest(given).into();
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = *held else {
            return false;
        };
        let in_time = now() < open.ends;
        let right = bool::from(open.sum[..].ct_eq(&given[..]));
        if right || !in_time {
            *held = None;
        }
        right && in_time
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "the runtime's own time, which tests stop; nothing of it is kept or told"
)]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn code_works_once() {
        let (code, text) = LoginCode::generate().unwrap();
        assert_eq!(text.len(), 32);
        assert!(text.bytes().all(|b| b.is_ascii_hexdigit()), "{text}");
        let (other, theirs) = LoginCode::generate().unwrap();
        for wrong in ["", "0", &text[1..], &format!("{text}0"), &theirs] {
            assert!(!code.take(wrong), "{wrong}");
        }
        assert!(code.take(&text), "wrong ones did not use it up");
        assert!(!code.take(&text));
        assert!(other.take(&theirs));
    }

    #[tokio::test(start_paused = true)]
    async fn code_expires() {
        let (code, text) = LoginCode::generate().unwrap();
        let (last, late) = LoginCode::generate().unwrap();
        advance(LIFE - Duration::from_millis(1)).await;
        assert!(last.take(&late));
        advance(Duration::from_millis(1)).await;
        assert!(!code.take(&text));
        assert!(code.0.lock().unwrap().is_none(), "nothing of it is held");
    }
}
