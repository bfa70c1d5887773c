//! `session/set_title`, for open and closed sessions. The update precedes the answer.

use std::sync::Arc;

use agent_client_protocol::{
    Error, Responder,
    v1::schema::{SetSessionTitleRequest, SetSessionTitleResponse},
};
use harn_model::SessionId;
use harn_runtime::DriverAction;

use super::{close::may_change, drive};
use crate::{answer::answer, connection::Peer, error, ext::sender::SenderParams};

/// The longest title; more than a list shows.
const LONGEST: usize = 200;

pub(crate) fn set(peer: &Arc<Peer>, request: Result<SetSessionTitleRequest, Error>, to: Responder) {
    let peer = peer.clone();
    peer.clone().spawn(async move {
        let set = async {
            let request = request?;
            let title = to_one_line(&request.title)?;
            let id = SessionId::new(request.session_id.0);
            let mut actor = SenderParams::from_meta(request.meta.as_ref());
            let Some(attached) = peer.attached(&id) else {
                may_change(&peer, &id, &mut actor)?;
                let stored = peer.hub.set_title(&id, &title).await;
                stored.map_err(|e| error::session_error_for(&id, &e))?;
                return Ok((title, None));
            };
            let driver = drive(&attached, DriverAction::Steer, &mut actor)?;
            let seq = driver.set_title(&title).await;
            let seq = seq.map_err(|e| error::setting(&e))?;
            Ok((title, Some((attached.clone(), seq))))
        };
        let response = |title| Ok(SetSessionTitleResponse::new(title));
        match set.await {
            Ok((title, Some((attached, seq)))) => {
                attached.reply_after(seq, move || answer(to, response(title)));
            }
            Ok((title, None)) => answer(to, response(title)),
            Err(error) => answer::<()>(to, Err(error)),
        }
    });
}

/// Returns the title to store: one line without control characters, cut to `LONGEST`.
fn to_one_line(title: &str) -> Result<String, Error> {
    let words: Vec<_> = title.split_whitespace().collect();
    let line = words.join(" ");
    let line = line.chars().filter(|c| !c.is_control());
    let line: String = line.take(LONGEST).collect();
    match line.trim() {
        "" => Err(error::bad_params(
            "session/set_title: title is empty; send at least one visible character",
        )),
        title => Ok(title.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_line_that_is_not_empty() {
        assert_eq!(
            to_one_line("  The\n leaking\tbucket ").unwrap(),
            "The leaking bucket"
        );
        assert_eq!(to_one_line("a\u{1b}[31mb\0").unwrap(), "a[31mb");
        let long = "ü".repeat(LONGEST + 1);
        assert_eq!(to_one_line(&long).unwrap().chars().count(), LONGEST);
        for empty in ["", " \n\t", "\u{1b}\u{7}", "\0 \0"] {
            assert_eq!(
                i32::from(to_one_line(empty).unwrap_err().code),
                -32602,
                "{empty:?}"
            );
        }
    }
}
