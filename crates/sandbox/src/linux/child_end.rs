//! How a command ended, and how the helper ends in the same way.

use std::{ffi::OsStr, io};

use rustix::process::{Resource, Rlimit, WaitStatus, setrlimit};
use signal_hook::low_level::emulate_default_handler;

use crate::helper::print_error;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChildEnd {
    Code(u8),
    Signal(u8),
}

impl ChildEnd {
    pub(super) fn from_wait_status(status: WaitStatus) -> Self {
        let byte = |number: i32| u8::try_from(number).unwrap_or(u8::MAX);
        match status.terminating_signal() {
            Some(signal) => Self::Signal(byte(signal)),
            None => Self::Code(byte(status.exit_status().unwrap_or_default())),
        }
    }

    /// Returns the end as it passes through a pipe.
    pub(super) fn to_bytes(self) -> [u8; 2] {
        match self {
            Self::Code(code) => [0, code],
            Self::Signal(signal) => [1, signal],
        }
    }

    /// Returns an end that passed through a pipe.
    pub(super) fn from_bytes([kind, number]: [u8; 2]) -> Self {
        if kind == 0 {
            Self::Code(number)
        } else {
            Self::Signal(number)
        }
    }

    /// Ends this process by the signal, or returns the exit code.
    pub(super) fn repeat(self) -> u8 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => {
                // The core file would be that of the helper.
                let none = Rlimit {
                    current: Some(0),
                    maximum: Some(0),
                };
                let _ = setrlimit(Resource::Core, none);
                // Returns only for a signal without a name, such as those of real-time.
                let _ = emulate_default_handler(signal.into());
                128_u8.saturating_add(signal)
            }
        }
    }
}

/// Reports that a command could not be started, as a shell does.
pub(super) fn start_error(program: &OsStr, error: &io::Error) -> ChildEnd {
    print_error(&format_args!("{}: {error}", program.display()));
    ChildEnd::Code(if error.kind() == io::ErrorKind::NotFound {
        127
    } else {
        126
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_survives_the_pipe() {
        for end in [ChildEnd::Code(0), ChildEnd::Code(255), ChildEnd::Signal(9)] {
            assert_eq!(ChildEnd::from_bytes(end.to_bytes()), end);
        }
    }
}
