//! The profile for the sandbox of macOS.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

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
    let real = |paths: &[PathBuf]| Vec::from_iter(paths.iter().map(|path| real_path(path)));
    let mut writable = real(&confinement.writable);
    writable.extend(confinement.temporary.as_deref().map(real_path));
    let mut rule = |action: &str, filter: &str, path: &Path| {
        rules.push(format!("({action} ({filter} {}))", quoted(path)));
    };
    for path in &writable {
        rule("allow file-write*", "subpath", path);
    }
    for path in &real(&confinement.hidden) {
        rule("deny file-read* file-write*", "subpath", path);
        for inside in writable.iter().filter(|inside| inside.starts_with(path)) {
            rule("allow file-read* file-write*", "subpath", inside);
        }
    }
    for path in &real(&confinement.read_only) {
        rule("deny file-write*", "subpath", path);
        // The folders between cannot be renamed or removed.
        for folder in path.ancestors().skip(1) {
            if writable.iter().any(|root| folder.starts_with(root)) {
                rule("deny file-write-unlink", "literal", folder);
            }
        }
    }
    rules.join("\n") + "\n" + &network(confinement)
}

fn network(confinement: &Confinement) -> String {
    let mut text = String::new();
    if confinement.network != NetworkAccess::On {
        text.push_str("(deny network*)\n");
    }
    let action = if confinement.unix_sockets {
        "allow"
    } else {
        "deny"
    };
    let _ = writeln!(text, "({action} network-outbound (remote unix-socket))");
    // A look-up of names goes through a Unix socket, so this rule follows the one about them.
    const NAMES: &str = "(allow network-outbound (literal \"/private/var/run/mDNSResponder\"))\n";
    match &confinement.network {
        NetworkAccess::On => text.push_str(NAMES),
        NetworkAccess::Off => {}
        NetworkAccess::Ports(ports) => {
            for port in ports {
                let _ = writeln!(text, "(allow network-outbound (remote tcp \"*:{port}\"))");
                let _ = writeln!(
                    text,
                    "(allow network-bind network-inbound (local tcp \"*:{port}\"))"
                );
            }
            if ports.contains(&53) {
                text.push_str("(allow network-outbound (remote udp \"*:53\"))\n");
                text.push_str(NAMES);
            }
        }
    }
    text
}

/// Returns a path without links, as macOS compares it, such as `/private/tmp` for `/tmp`. The end of it may be missing.
fn real_path(path: &Path) -> PathBuf {
    let real = path.ancestors().find_map(|above| {
        let rest = path.strip_prefix(above).ok()?;
        Some(
            above
                .canonicalize()
                .ok()?
                .components()
                .chain(rest.components())
                .collect(),
        )
    });
    real.unwrap_or_else(|| path.to_owned())
}

/// Returns a path as a string of the profile.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
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
                "(deny network-outbound (remote unix-socket))",
                "(allow network-outbound (remote tcp \"*:443\"))",
                "(allow network-bind network-inbound (local tcp \"*:443\"))",
            ]
        );
    }

    #[test]
    fn names_are_resolved_although_unix_sockets_are_closed() {
        for network in [NetworkAccess::Ports(vec![53]), NetworkAccess::On] {
            let confinement = Confinement {
                network,
                ..Confinement::default()
            };
            let text = profile(&confinement);
            let closed = text.find("(deny network-outbound (remote unix-socket))");
            assert!(
                closed.is_some() && closed < text.find("mDNSResponder"),
                "{text}"
            );
        }
    }

    #[cfg(unix)]
    #[test]
    fn missing_path_in_a_linked_folder_is_the_real_one() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap().join("real");
        std::fs::create_dir(&real).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("real", &link).unwrap();
        let confinement = Confinement {
            writable: vec![link.clone()],
            read_only: vec![link.join(".git/hooks")],
            ..Confinement::default()
        };
        let text = profile(&confinement);
        let real = real.display();
        for rule in [
            format!("(allow file-write* (subpath \"{real}\"))"),
            format!("(deny file-write* (subpath \"{real}/.git/hooks\"))"),
            format!("(deny file-write-unlink (literal \"{real}/.git\"))"),
        ] {
            assert!(text.contains(&rule), "{rule} is not in {text}");
        }
    }

    #[test]
    fn network_off_denies_everything() {
        let text = profile(&Confinement::default());
        assert!(text.contains("(deny network*)\n"), "{text}");
        assert!(!text.contains("subpath"), "{text}");
    }
}
