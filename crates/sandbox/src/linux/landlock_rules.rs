//! Landlock: the kernel checks each write, each TCP port, and signals to processes outside.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, LandlockStatus, NetPort, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, Scope, path_beneath_rules,
};

use super::{SetupError, failed};
use crate::{Confinement, NetworkAccess};

/// The newest interface whose rights we know; on an older kernel, the crate leaves out what it lacks.
const NEWEST: ABI = ABI::V6;

/// Permits writes to `writable` only.
pub(super) fn restrict_writes(
    confinement: &Confinement,
    writable: &[PathBuf],
) -> Result<(), SetupError> {
    restrict(confinement, writable, None).map_err(failed("Landlock"))?;
    Ok(())
}

/// Permits writes to `writable` only, and no reads of `unreadable`, whose neighbours stay readable.
pub(super) fn restrict_writes_and_reads(
    confinement: &Confinement,
    writable: &[PathBuf],
    unreadable: &[PathBuf],
) -> Result<(), SetupError> {
    let mut readable = around(unreadable);
    // What is writable inside a hidden folder stays visible.
    let holds_hidden = |path: &PathBuf| unreadable.iter().any(|hidden| hidden.starts_with(path));
    readable.extend(writable.iter().filter(|path| !holds_hidden(path)).cloned());
    restrict(confinement, writable, Some(&readable)).map_err(failed("Landlock"))?;
    Ok(())
}

/// Restricts this process as strictly as possible. Returns the version of the interface, 0 if there is none.
pub(super) fn interface_version() -> u8 {
    match restrict(&Confinement::default(), &[], None) {
        Ok(LandlockStatus::Available { effective_abi, .. }) => effective_abi as u8,
        Ok(_) | Err(_) => 0,
    }
}

fn restrict(
    confinement: &Confinement,
    writable: &[PathBuf],
    readable: Option<&BTreeSet<PathBuf>>,
) -> Result<LandlockStatus, RulesetError> {
    let writing = AccessFs::from_write(NEWEST);
    let reading = readable.map_or(BitFlags::EMPTY, |_| AccessFs::ReadFile.into());
    let mut rules = Ruleset::default().handle_access(writing | reading)?;
    let network = &confinement.network;
    if *network != NetworkAccess::On {
        rules = rules.handle_access(AccessNet::from_all(NEWEST))?;
    }
    rules = rules.scope(if confinement.unix_sockets {
        Scope::Signal.into()
    } else {
        Scope::from_all(NEWEST)
    })?;
    let mut rules = rules
        .create()?
        .add_rules(path_beneath_rules(writable, writing))?;
    if let Some(readable) = readable {
        rules = rules.add_rules(path_beneath_rules(readable, AccessFs::ReadFile))?;
    }
    if let NetworkAccess::Ports(ports) = network {
        for port in ports {
            rules = rules.add_rule(NetPort::new(*port, AccessNet::from_all(NEWEST)))?;
        }
    }
    Ok(rules.restrict_self()?.landlock)
}

/// Returns the outermost paths that together are everything except `excluded` and the folders above them.
fn around(excluded: &[PathBuf]) -> BTreeSet<PathBuf> {
    let above: BTreeSet<&Path> = excluded
        .iter()
        .flat_map(|path| path.ancestors().skip(1))
        .collect();
    let mut readable = BTreeSet::new();
    for folder in &above {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            // A rule for a link would be one for its target, which may be hidden. A target elsewhere has its own rule.
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                continue;
            }
            let path = entry.path();
            if !above.contains(path.as_path()) && !excluded.contains(&path) {
                readable.insert(path);
            }
        }
    }
    readable
}
