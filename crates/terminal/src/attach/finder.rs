//! Finds a session by its id or the beginning of it, among the sessions of all servers.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::{
    address::{RemoteAddress, ServerAddress, list_sockets},
    protocol::SessionTarget,
    servers::{self, ListScope, RunningServer, ServerSession},
};
use crate::{
    session_ids::{join_ids, matches_prefix},
    text::did_you_mean,
};

pub(super) struct SessionFinder {
    pub(super) state_dir: PathBuf,
    pub(super) remote: Option<RemoteAddress>,
}

#[derive(Debug)]
pub(super) struct AttachDestination {
    pub(super) address: ServerAddress,
    pub(super) target: SessionTarget,
    pub(super) cwd: PathBuf,
}

impl AttachDestination {
    /// Returns a new session in the current directory.
    pub(super) fn new_session_here(address: ServerAddress) -> Result<Self> {
        let cwd = std::env::current_dir().context("cannot determine the current directory")?;
        let target = SessionTarget::New(cwd.clone());
        Ok(Self {
            address,
            target,
            cwd,
        })
    }

    pub(super) fn for_session(address: ServerAddress, session: &ServerSession) -> Self {
        let (id, cwd) = (session.id.clone(), session.cwd.clone());
        let target = match session.live {
            true => SessionTarget::Live(id),
            false => SessionTarget::Stored(id, cwd.clone()),
        };
        Self {
            address,
            target,
            cwd,
        }
    }
}

impl SessionFinder {
    /// Returns the running servers with their sessions. Returns an error if there is none.
    pub(super) async fn list_servers(&self, which: ListScope) -> Result<Vec<RunningServer>> {
        if let Some(remote) = &self.remote {
            let asked =
                servers::query_servers(vec![ServerAddress::Url(remote.clone())], which).await;
            return Ok(asked.into_iter().collect::<Result<_, _>>()?);
        }
        // Sockets that a killed server left do not answer.
        let asked = servers::query_servers(list_sockets(&self.state_dir), which).await;
        let servers: Vec<_> = asked.into_iter().flatten().collect();
        if servers.is_empty() {
            bail!(
                "no server uses the state directory {}; `harn-serve serve` starts one, and `harn-serve acp --listen` \
                 shares the sessions of an editor",
                self.state_dir.display()
            );
        }
        Ok(servers)
    }

    pub(super) async fn any_server(&self) -> Result<ServerAddress> {
        let servers = self.list_servers(ListScope::Live).await?;
        let server = servers.into_iter().next().context("no server runs")?;
        Ok(server.address)
    }

    /// Returns the live session, if there is exactly one.
    pub(super) async fn find_only_live_session(&self) -> Result<AttachDestination> {
        let servers = self.list_servers(ListScope::Live).await?;
        let found = find_matches(&servers, "", true);
        match found.as_slice() {
            [] => bail!("no session is live; name a stored one and open it with --open"),
            [one] => Ok(AttachDestination::for_session(one.0.clone(), one.1)),
            several => bail!(
                "several sessions are live, name one: {}",
                join_match_ids(several)
            ),
        }
    }

    /// Returns the session with this id, or the only one whose id begins with it. A stored session needs
    /// `open`.
    pub(super) async fn find_session(&self, wanted: &str, open: bool) -> Result<AttachDestination> {
        let servers = self.list_servers(ListScope::Live).await?;
        if let Some(found) = single_match(&find_matches(&servers, wanted, true), wanted)? {
            return Ok(found);
        }
        let servers = self.list_servers(ListScope::All).await?;
        match single_match(&find_matches(&servers, wanted, false), wanted)? {
            Some(AttachDestination {
                target: SessionTarget::Stored(id, _),
                ..
            }) if !open => bail!(
                "session {id} is stored, and not live; `harn-serve attach --open {id}` opens it"
            ),
            // The caller wants to open it, or it became live in between.
            Some(found) => Ok(found),
            None => {
                let known = servers.iter().flat_map(|server| &server.sessions);
                let near = did_you_mean(wanted, known.map(|session| session.id.as_str()));
                bail!(
                    "no session {wanted} is live or has a prompt; \
                     {near}`harn-serve sessions list` lists all"
                )
            }
        }
    }
}

type SessionMatch<'a> = (ServerAddress, &'a ServerSession);

fn find_matches<'a>(
    servers: &'a [RunningServer],
    wanted: &str,
    live: bool,
) -> Vec<SessionMatch<'a>> {
    let mut found: Vec<SessionMatch<'a>> = Vec::new();
    for server in servers {
        for session in &server.sessions {
            let known = found.iter().any(|(_, known)| known.id == session.id);
            let begins = matches_prefix(&session.id, wanted);
            if begins && session.live >= live && !known {
                found.push((server.address.clone(), session));
            }
        }
    }
    // An exact match has priority over longer ids.
    if let Some(at) = found.iter().position(|(_, session)| session.id == wanted) {
        return vec![found.swap_remove(at)];
    }
    found
}

fn single_match(found: &[SessionMatch<'_>], wanted: &str) -> Result<Option<AttachDestination>> {
    match found {
        [] => Ok(None),
        [(address, session)] => Ok(Some(AttachDestination::for_session(
            address.clone(),
            session,
        ))),
        several => bail!(
            "several sessions begin with {wanted}: {}",
            join_match_ids(several)
        ),
    }
}

fn join_match_ids(found: &[SessionMatch<'_>]) -> String {
    join_ids(found.iter().map(|(_, session)| session.id.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed_session(id: &str, live: bool) -> ServerSession {
        ServerSession {
            id: id.to_owned(),
            title: String::new(),
            cwd: "/w".into(),
            updated: 0,
            live,
            working: false,
            controller: None,
            since: None,
        }
    }

    fn find_target(wanted: &str, live: bool) -> Result<Option<SessionTarget>> {
        let sessions = [
            ("ab1", true),
            ("ab2", false),
            ("ab", true),
            ("cd1", true),
            ("cd2", true),
            ("ses_0198", true),
        ];
        let sessions = sessions.map(|(id, live)| listed_session(id, live)).to_vec();
        let address = ServerAddress::Socket("/s".into());
        let servers = [RunningServer { address, sessions }];
        Ok(single_match(&find_matches(&servers, wanted, live), wanted)?.map(|found| found.target))
    }

    #[test]
    fn a_destination_has_the_directory_of_the_listed_session() {
        let address = ServerAddress::Socket("/s".into());
        let found = AttachDestination::for_session(address, &listed_session("a", true));
        assert_eq!(found.cwd, PathBuf::from("/w"));
    }

    #[test]
    fn a_unique_beginning_of_an_id_selects_the_session() {
        let live = |id: &str| Some(SessionTarget::Live(id.to_owned()));
        assert_eq!(find_target("ab1", true).unwrap(), live("ab1"));
        assert_eq!(find_target("ab", true).unwrap(), live("ab"));
        assert_eq!(find_target("ab2", true).unwrap(), None);
        let stored = SessionTarget::Stored("ab2".to_owned(), "/w".into());
        assert_eq!(find_target("ab2", false).unwrap(), Some(stored));
        assert_eq!(find_target("x", false).unwrap(), None);
        assert_eq!(find_target("019", true).unwrap(), live("ses_0198"));
        let several = find_target("cd", true).unwrap_err().to_string();
        assert_eq!(several, "several sessions begin with cd: cd1, cd2");
    }
}
