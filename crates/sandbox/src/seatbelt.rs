//! The profile for the sandbox of macOS.

use std::{fmt::Write as _, path::Path};

use crate::{Confinement, NetworkAccess};

/// The program of macOS that runs a command with a profile.
#[cfg(target_os = "macos")]
pub(crate) const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// Returns the profile of a confinement. Of several rules that match, the last one decides.
pub(crate) fn profile(confinement: &Confinement) -> String {
    let devices = ["null", "zero", "tty", "ptmx", "dtracehelper"];
    let devices = devices
        .map(|name| format!(" (literal \"/dev/{name}\")"))
        .concat();
    let mut rules = vec![
        "(version 1)".to_owned(),
        "(allow default)".to_owned(),
        "(deny file-write*)".to_owned(),
        format!("(allow file-write*{devices} (regex #\"^/dev/ttys\"))"),
    ];
    let mut rule = |action: &str, filter: &str, path: &Path| {
        rules.push(format!("({action} ({filter} {}))", quoted(path)));
    };
    let writable = || confinement.writable.iter().chain(&confinement.temporary);
    for path in writable() {
        rule("allow file-write*", "subpath", path);
    }
    for path in &confinement.hidden {
        rule("deny file-read* file-write*", "subpath", path);
        for inside in writable().filter(|inside| inside.starts_with(path)) {
            rule("allow file-read* file-write*", "subpath", inside);
        }
    }
    for path in &confinement.read_only {
        rule("deny file-write*", "subpath", path);
        // The folders between cannot be renamed or removed.
        for folder in path.ancestors().skip(1) {
            if writable().any(|root| folder.starts_with(root)) {
                rule("deny file-write-unlink", "literal", folder);
            }
        }
    }
    rules.join("\n") + "\n" + &network(confinement)
}

fn network(confinement: &Confinement) -> String {
    let mut text = String::new();
    match &confinement.network {
        NetworkAccess::On => {}
        NetworkAccess::Off => text.push_str("(deny network*)\n"),
        NetworkAccess::Ports(ports) => {
            text.push_str("(deny network*)\n");
            for port in ports {
                let _ = writeln!(text, "(allow network-outbound (remote tcp \"*:{port}\"))");
                let _ = writeln!(
                    text,
                    "(allow network-bind network-inbound (local tcp \"*:{port}\"))"
                );
            }
            if ports.contains(&53) {
                text.push_str("(allow network-outbound (remote udp \"*:53\"))\n");
                text.push_str(
                    "(allow network-outbound (literal \"/private/var/run/mDNSResponder\"))\n",
                );
            }
        }
    }
    let action = if confinement.unix_sockets {
        "allow"
    } else {
        "deny"
    };
    let _ = writeln!(text, "({action} network-outbound (remote unix-socket))");
    text
}

/// Returns a path without links, as macOS compares it, such as `/private/tmp` for `/tmp`, as a string of the profile.
fn quoted(path: &Path) -> String {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let text = real.to_string_lossy();
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profile_denies_after_it_allows() {
        let confinement = Confinement {
            writable: vec!["/w".into()],
            read_only: vec!["/w/.git/hooks".into()],
            hidden: vec!["/h\"x".into()],
            network: NetworkAccess::Ports(vec![443]),
            ..Confinement::default()
        };
        let text = profile(&confinement);
        let lines: Vec<&str> = text.lines().skip(4).collect();
        assert_eq!(
            lines,
            [
                "(allow file-write* (subpath \"/w\"))",
                "(deny file-read* file-write* (subpath \"/h\\\"x\"))",
                "(deny file-write* (subpath \"/w/.git/hooks\"))",
                "(deny file-write-unlink (literal \"/w/.git\"))",
                "(deny file-write-unlink (literal \"/w\"))",
                "(deny network*)",
                "(allow network-outbound (remote tcp \"*:443\"))",
                "(allow network-bind network-inbound (local tcp \"*:443\"))",
                "(deny network-outbound (remote unix-socket))",
            ]
        );
    }

    #[test]
    fn network_off_denies_everything() {
        let text = profile(&Confinement::default());
        assert!(text.contains("(deny network*)\n"), "{text}");
        assert!(!text.contains("subpath"), "{text}");
    }
}
