//! A permit: what a call that may run may do through its host. Nothing it did not declare.

use std::path::Path;

use harn_policy::{Located, PathProbe, Place, Roots, Standing, locate};
use serde_json::Value;

use crate::{CommandSpec, HostError};

/// What may be done.
#[derive(Debug, Default)]
pub(crate) struct Permit {
    /// The call that may run; without one, only reading.
    granted: Option<Granted>,
}

#[derive(Debug)]
struct Granted {
    tool: String,
    input: Value,
    writes: bool,
    paths: Vec<Located>,
    command: Option<String>,
}

impl Permit {
    /// For a call that may run.
    pub(crate) fn granted(
        tool: String,
        input: Value,
        writes: bool,
        paths: Vec<Located>,
        command: Option<String>,
    ) -> Self {
        Self {
            granted: Some(Granted {
                tool,
                input,
                writes,
                paths,
                command,
            }),
        }
    }

    /// Where a path leads that is to be written; refused unless the call declared it and may write.
    pub(crate) fn write(
        &self,
        roots: &Roots,
        path: &Path,
        probe: &dyn PathProbe,
    ) -> Result<Place, HostError> {
        let denied = |why: &str| Err(HostError::Denied(format!("{}: {why}", path.display())));
        let Some(granted) = self.granted.as_ref().filter(|granted| granted.writes) else {
            return denied("writing needs a tool call that may write; start one with this path");
        };
        let found = locate(roots, &path.to_string_lossy(), probe);
        match found.place {
            Some(place) if granted.covers(&place) && !found.protected => Ok(place),
            Some(_) => denied("the tool call did not declare this path, or it leads elsewhere now"),
            None => denied(
                found
                    .info
                    .reason
                    .as_deref()
                    .unwrap_or("nobody can tell where it leads"),
            ),
        }
    }

    /// Where a path leads that is to be read; `None` where it is inside, and the rules have to be asked.
    pub(crate) fn read(
        &self,
        roots: &Roots,
        path: &Path,
        probe: &dyn PathProbe,
    ) -> Result<(Place, bool), HostError> {
        let denied = |why: &str| Err(HostError::Denied(format!("{}: {why}", path.display())));
        let found = locate(roots, &path.to_string_lossy(), probe);
        let Some(place) = found.place else {
            let why = found.info.reason.as_deref();
            return denied(why.unwrap_or("nobody can tell where it leads"));
        };
        let declared = self.granted.as_ref().is_some_and(|it| it.covers(&place));
        match found.standing {
            _ if declared => Ok((place, true)),
            Standing::Inside => Ok((place, false)),
            Standing::Outside | Standing::Dangling | Standing::Invalid => {
                denied("it is outside the session's directories")
            }
        }
    }

    /// Refused unless this is the command that the call declared.
    pub(crate) fn run(&self, spec: &CommandSpec) -> Result<(), HostError> {
        let declared = self.granted.as_ref().and_then(|it| it.command.as_deref());
        if declared.is_some_and(|line| *line == *spec.line()) {
            return Ok(());
        }
        let why =
            "running a command needs a tool call of the kind execute that declares this command";
        Err(HostError::Denied(why.to_owned()))
    }

    /// Refused unless the call is of this tool with these arguments.
    pub(crate) fn call(&self, tool: &str, args: &Value) -> Result<(), HostError> {
        let granted = self.granted.as_ref();
        if granted.is_some_and(|it| it.tool == tool && it.input == *args) {
            return Ok(());
        }
        let why = format!("{tool}: calling it needs a tool call of this name with these arguments");
        Err(HostError::Denied(why))
    }
}

impl Granted {
    fn covers(&self, place: &Place) -> bool {
        let target = place.absolute();
        let declared = self.paths.iter().filter_map(|path| path.place.as_ref());
        declared.into_iter().any(|place| place.absolute() == target)
    }
}
