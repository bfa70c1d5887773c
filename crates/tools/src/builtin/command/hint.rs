//! Notes about the sandbox in the result of a command: that it may be the cause of a failure, and what to do then; or
//! that there is none.

use harn_model::ConfinedNetwork;
use harn_runtime::{CommandConfinement, CommandExit, ToolHandle};

use super::CommandCompletion;

/// The exit code of shells for a program that they may not run.
const MAY_NOT_RUN: i32 = 126;

/// Texts of errors that a refused write or a refused system call causes, in lower case.
const REFUSED: [&str; 6] = [
    "permission denied",
    "operation not permitted",
    "read-only file system",
    "eacces",
    "eperm",
    "erofs",
];

/// Texts of errors without a network, in lower case.
const UNREACHABLE: [&str; 12] = [
    "could not resolve",
    "couldn't resolve",
    "name resolution",
    "name or service not known",
    "network is unreachable",
    "network unreachable",
    "failed to lookup address",
    "nodename nor servname",
    "eai_again",
    "enotfound",
    "enetunreach",
    "unable to access 'http",
];

/// How much of the end of the output is searched.
const SEARCHED: usize = 16 * 1024;

/// Returns the note for a command that ran on this machine, if there is anything to note.
pub(super) async fn about(call: &ToolHandle, end: &CommandCompletion) -> Option<String> {
    if let Some(limits) = call.host().confinement() {
        return match end {
            CommandCompletion::Exited(exit) => about_failure(limits, exit),
            CommandCompletion::TimedOut(_) => None,
        };
    }
    let sandbox = call.host().local_sandbox().await;
    let gap = sandbox.gaps.first().filter(|_| sandbox.layers.is_empty())?;
    Some(format!("The command ran without a sandbox: {gap}"))
}

/// Returns what to do if the sandbox may have made a command fail.
fn about_failure(limits: &CommandConfinement, exit: &CommandExit) -> Option<String> {
    if exit.code == Some(0) {
        return None;
    }
    let start = exit.output.len().saturating_sub(SEARCHED);
    let start = crate::local::output::next_char_boundary(&exit.output, start);
    let output = exit.output[start..].to_lowercase();
    let contains = |texts: &[&str]| texts.iter().any(|text| output.contains(text));
    let refused = exit.code == Some(MAY_NOT_RUN) || contains(&REFUSED);
    let no_network = limits.network != ConfinedNetwork::On;
    let unreachable = no_network && contains(&UNREACHABLE);
    let killed = exit.signal.as_deref() == Some("signal 31");
    if !refused && !unreachable && !killed {
        return None;
    }
    let writes = match limits.writable.is_empty() {
        true => "it could write nothing but its temporary directory",
        false => "it could write only the session's directories and its temporary directory",
    };
    let network = match limits.network {
        ConfinedNetwork::Off => ", and it had no network",
        ConfinedNetwork::Ports => ", and it reached only some ports of the network",
        ConfinedNetwork::On => "",
    };
    let how = match unreachable {
        true => {
            "To run it with the network, call run_command with \"network\": true (`/run --network`)"
        }
        false => {
            "To run it outside the sandbox, call run_command with \"sandbox\": false (`/run --no-sandbox`)"
        }
    };
    Some(format!(
        "The sandbox may be the cause: {writes}{network}. {how}; a person is asked first, unless a rule decides."
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use harn_policy::SandboxSettings;

    use super::*;

    fn hint(code: i32, output: &str, network: ConfinedNetwork) -> Option<String> {
        let limits = CommandConfinement {
            writable: vec!["/w".into()],
            directories: vec!["/w".into()],
            protected: Vec::new(),
            network,
            settings: Arc::new(SandboxSettings::default()),
        };
        let exit = CommandExit {
            code: Some(code),
            signal: None,
            output: output.to_owned(),
            truncated: false,
        };
        about_failure(&limits, &exit)
    }

    #[test]
    fn failure_that_the_sandbox_may_cause_states_what_to_do() {
        use ConfinedNetwork::{Off, On};
        let outside = hint(1, "touch: /etc/x: Read-only file system\n", Off).unwrap();
        assert!(outside.contains("\"sandbox\": false"), "{outside}");
        assert!(hint(126, "", On).is_some());
        let offline = "curl: (6) Could not resolve host: example.org";
        let network = hint(6, offline, Off).unwrap();
        assert!(network.contains("\"network\": true"), "{network}");
        assert!(network.contains("it had no network"), "{network}");
    }

    #[test]
    fn other_failures_have_no_note() {
        use ConfinedNetwork::{Off, On};
        assert_eq!(hint(1, "2 tests failed", Off), None);
        assert_eq!(hint(0, "warning: permission denied", Off), None);
        assert_eq!(hint(6, "Could not resolve host: nowhere", On), None);
    }
}
