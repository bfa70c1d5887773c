//! A permit: what an allowed call may do through its host. It covers only declared effects, and only until
//! the call ends.

use std::{
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use harn_policy::{LocatedPath, PathScope, RootedPath};
use serde_json::Value;

use super::{CommandConfinement, locate};
use crate::{CommandSpec, HostError, session::SharedSession};

/// The permission of a call.
#[derive(Debug, Default)]
pub(crate) struct CallPermit {
    /// The allowed call; without one, only reads are possible.
    granted: Option<PermittedCall>,
}

#[derive(Debug)]
struct PermittedCall {
    tool: String,
    input: Value,
    writes: bool,
    paths: Vec<LocatedPath>,
    command: Option<String>,
    /// The limits of its command on this machine; none outside of a sandbox.
    confinement: Option<CommandConfinement>,
    /// Whether its command has run or its tool was called, which is allowed once.
    used: AtomicBool,
    over: AtomicBool,
}

impl CallPermit {
    /// Returns the permit of an allowed call.
    pub(crate) fn for_call(
        tool: String,
        input: Value,
        writes: bool,
        paths: Vec<LocatedPath>,
        command: Option<String>,
        confinement: Option<CommandConfinement>,
    ) -> Self {
        Self {
            granted: Some(PermittedCall {
                tool,
                input,
                writes,
                paths,
                command,
                confinement,
                used: AtomicBool::new(false),
                over: AtomicBool::new(false),
            }),
        }
    }

    /// Ends the permit with its call.
    pub(crate) fn end(&self) {
        if let Some(granted) = &self.granted {
            granted.over.store(true, Ordering::Release);
        }
    }

    /// Returns the call if it has not ended.
    fn active_call(&self) -> Option<&PermittedCall> {
        let granted = self.granted.as_ref();
        granted.filter(|granted| !granted.over.load(Ordering::Acquire))
    }

    /// Resolves a path for writing; refuses it unless the call declared it and may write.
    pub(crate) fn check_write(
        &self,
        acting: &SharedSession,
        path: &Path,
    ) -> Result<RootedPath, HostError> {
        let Some(granted) = self.active_call().filter(|granted| granted.writes) else {
            let why = "writing needs a running tool call that may write; start one with this path";
            return Err(denied_error(path, why));
        };
        let found = locate_one(acting, path)?;
        let undeclared =
            "the tool call did not declare this path, or the path now resolves to another place";
        match &found.place {
            Some(place) if granted.covers(place) && !found.protected => Ok(place.clone()),
            Some(_) => Err(denied_error(path, undeclared)),
            None => Err(unresolved_error(path, &found)),
        }
    }

    /// Resolves a path for reading, and returns whether the call declared it. The caller judges undeclared
    /// paths by the rules.
    pub(crate) fn check_read(
        &self,
        acting: &SharedSession,
        path: &Path,
    ) -> Result<(LocatedPath, bool), HostError> {
        let found = locate_one(acting, path)?;
        let Some(place) = &found.place else {
            return Err(unresolved_error(path, &found));
        };
        let declared = self.active_call().is_some_and(|it| it.covers(place));
        match found.standing {
            _ if declared => Ok((found, true)),
            PathScope::Inside => Ok((found, false)),
            PathScope::Outside | PathScope::Dangling | PathScope::Invalid => Err(denied_error(
                path,
                "it is outside the session's directories",
            )),
        }
    }

    /// Refuses a command unless the call declared it, for this directory, and has not run it.
    pub(crate) fn check_run(
        &self,
        acting: &SharedSession,
        spec: &CommandSpec,
    ) -> Result<(), HostError> {
        let declared = self.active_call().filter(|granted| {
            let line = granted.command.as_deref();
            line.is_some_and(|line| *line == *spec.line())
        });
        let Some(granted) = declared else {
            let why = "running a command needs a tool call of the kind execute that declares this command";
            return Err(HostError::Denied(why.to_owned()));
        };
        granted.check_cwd(acting, &spec.cwd)?;
        granted.use_once()
    }

    /// Refuses a directory unless the call may run its command there.
    pub(crate) fn check_cwd(&self, acting: &SharedSession, cwd: &Path) -> Result<(), HostError> {
        match self.active_call() {
            Some(granted) => granted.check_cwd(acting, cwd),
            None => Err(denied_error(cwd, "the tool call has ended")),
        }
    }

    /// Whether the call was judged as one that runs a command.
    pub(crate) fn declares_command(&self) -> bool {
        let granted = self.active_call();
        granted.is_some_and(|granted| granted.command.is_some())
    }

    /// Returns the limits of the call's command on this machine.
    pub(crate) fn confinement(&self) -> Option<&CommandConfinement> {
        self.granted.as_ref()?.confinement.as_ref()
    }

    /// Refuses a tool call unless name and arguments are those of the call, and it was not made yet.
    pub(crate) fn check_call(&self, tool: &str, args: &Value) -> Result<(), HostError> {
        let granted = self.active_call();
        match granted.filter(|it| it.tool == tool && it.input == *args) {
            Some(granted) => granted.use_once(),
            None => Err(HostError::Denied(format!(
                "{tool}: calling it needs a running tool call of this name with these arguments"
            ))),
        }
    }
}

impl PermittedCall {
    fn check_cwd(&self, acting: &SharedSession, cwd: &Path) -> Result<(), HostError> {
        let mut declared = self.paths.iter().filter_map(|path| path.place.as_ref());
        if *cwd == *acting.cwd || declared.any(|place| place.absolute() == cwd) {
            return Ok(());
        }
        let why = "a command must run in the session's directory, or in one that its call declared";
        Err(denied_error(cwd, why))
    }

    fn covers(&self, place: &RootedPath) -> bool {
        let target = place.absolute();
        let mut declared = self.paths.iter().filter_map(|path| path.place.as_ref());
        declared.any(|place| place.absolute() == target)
    }

    fn use_once(&self) -> Result<(), HostError> {
        if self.used.swap(true, Ordering::AcqRel) {
            let why = "the tool call has done this already; start another one";
            return Err(HostError::Denied(why.to_owned()));
        }
        Ok(())
    }
}

fn locate_one(acting: &SharedSession, path: &Path) -> Result<LocatedPath, HostError> {
    let mut found = locate(acting, &[path.to_string_lossy().into_owned()]);
    found
        .pop()
        .ok_or_else(|| denied_error(path, "cannot be resolved"))
}

fn denied_error(path: &Path, why: &str) -> HostError {
    HostError::Denied(format!("{}: {why}", path.display()))
}

fn unresolved_error(path: &Path, found: &LocatedPath) -> HostError {
    let why = found.info.reason.as_deref();
    denied_error(path, why.unwrap_or("cannot be resolved"))
}
