//! Derives the confinement of a command from the decision about its call, in one place: a command that no user saw
//! writes nothing and reaches nothing; a command that a user or a user's rule allowed writes the session's
//! directories, and reaches the network if the call states it.

use std::{path::PathBuf, sync::Arc};

use harn_model::{
    ConfinedNetwork, ConfinedWrites, ConfinementRecord, PolicyAction, PolicyDecision, RuleSource,
};
use harn_policy::{CommandAccess, SandboxSettings, SessionMode, SessionRoots};

use crate::HostSandbox;

/// The limits in which this machine runs a command, if it has a sandbox. The runtime sets them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandConfinement {
    /// The folders that the command may write; none if nothing is writable.
    pub writable: Vec<PathBuf>,
    /// The session's directories, whose protected files stay as they are.
    pub directories: Vec<PathBuf>,
    /// Paths that no command writes.
    pub protected: Vec<PathBuf>,
    /// The network that it may reach; `ports` of the settings limits it to some.
    pub network: ConfinedNetwork,
    /// What the rules state about the sandbox.
    pub settings: Arc<SandboxSettings>,
}

/// The confinement of a call, or the reason why the call must not run.
pub(crate) type ConfinementChoice = Result<Option<CommandConfinement>, String>;

/// Returns the confinement of a command that runs on this machine.
pub(crate) fn confine_command(
    receipt: &PolicyDecision,
    mode: SessionMode,
    access: CommandAccess,
    roots: &SessionRoots,
    settings: &Arc<SandboxSettings>,
    sandbox: &HostSandbox,
) -> ConfinementChoice {
    if sandbox.required || settings.require {
        if let Some(gap) = sandbox.gaps.first() {
            return Err(format!(
                "the sandbox is required, and this system lacks a part of it: {gap}"
            ));
        }
        if sandbox.layers.is_empty() {
            return Err("the rules require the sandbox, and it is off".to_owned());
        }
        if access.outside {
            return Err("the sandbox is required; a command cannot run outside of it".to_owned());
        }
    }
    if access.outside || sandbox.layers.is_empty() {
        return Ok(None);
    }
    let rule = receipt.matched_rule.as_ref();
    let by_mode = rule.is_none_or(|rule| rule.source == RuleSource::Mode);
    // A question has an answer before the command runs.
    let unseen = receipt.action == PolicyAction::Allow && by_mode;
    let confinement = CommandConfinement {
        writable: Vec::new(),
        directories: roots.dirs().to_vec(),
        protected: roots.protected().to_vec(),
        network: ConfinedNetwork::Off,
        settings: settings.clone(),
    };
    if unseen || mode == SessionMode::ReadOnly {
        return Ok(Some(confinement));
    }
    let more = settings.writable.iter();
    Ok(Some(CommandConfinement {
        writable: roots.dirs().iter().chain(more).cloned().collect(),
        network: match access.network {
            true => ConfinedNetwork::On,
            false if settings.ports.is_empty() => ConfinedNetwork::Off,
            false => ConfinedNetwork::Ports,
        },
        ..confinement
    }))
}

impl CommandConfinement {
    /// Returns the record for the receipt.
    pub(crate) fn record(&self, layers: &[String]) -> ConfinementRecord {
        ConfinementRecord {
            writes: match self.writable.is_empty() {
                true => ConfinedWrites::Nothing,
                false => ConfinedWrites::Workspace,
            },
            network: self.network,
            ports: match self.network {
                ConfinedNetwork::Ports => self.settings.ports.clone(),
                ConfinedNetwork::Off | ConfinedNetwork::On => Vec::new(),
            },
            layers: layers.to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use harn_model::{MatchedRule, PolicyContext, ReceiptType};

    use super::*;

    fn receipt(action: PolicyAction, source: RuleSource) -> PolicyDecision {
        PolicyDecision {
            receipt: ReceiptType::V1,
            action,
            reason: String::new(),
            matched_rule: Some(MatchedRule {
                source,
                action,
                id: None,
                index: None,
            }),
            risk_labels: Vec::new(),
            context: PolicyContext::default(),
            confinement: None,
        }
    }

    fn complete() -> HostSandbox {
        HostSandbox {
            layers: vec!["landlock".to_owned()],
            ..HostSandbox::default()
        }
    }

    fn confine(
        (action, source): (PolicyAction, RuleSource),
        mode: SessionMode,
        access: CommandAccess,
        settings: SandboxSettings,
        sandbox: &HostSandbox,
    ) -> Result<Option<(ConfinedWrites, ConfinedNetwork)>, String> {
        let roots = SessionRoots::new(vec!["/w".into()], vec!["/state".into()]);
        let receipt = receipt(action, source);
        let chosen = confine_command(&receipt, mode, access, &roots, &Arc::new(settings), sandbox);
        let record = |it: CommandConfinement| it.record(&sandbox.layers);
        Ok(chosen?.map(record).map(|it| (it.writes, it.network)))
    }

    #[test]
    fn mode_and_receipt_determine_the_confinement() {
        use ConfinedNetwork::{Off, On, Ports};
        use ConfinedWrites::{Nothing, Workspace};
        use PolicyAction::{Allow, Ask};
        use RuleSource::{AutoApprove, Grant, Mode, Rules};
        use SessionMode::{AcceptEdits, Auto, ReadOnly};
        let plain = CommandAccess::default();
        let network = CommandAccess {
            network: true,
            ..plain
        };
        let ports = || SandboxSettings {
            ports: vec![443],
            ..SandboxSettings::default()
        };
        let usual = SandboxSettings::default;
        let table = [
            // Only the mode allowed it.
            ((Allow, Mode), Auto, plain, usual(), (Nothing, Off)),
            ((Allow, Mode), Auto, plain, ports(), (Nothing, Off)),
            // A user allows it now, or did before.
            (
                (Ask, Mode),
                SessionMode::Ask,
                plain,
                usual(),
                (Workspace, Off),
            ),
            ((Ask, Mode), Auto, network, usual(), (Workspace, On)),
            ((Allow, Rules), Auto, plain, usual(), (Workspace, Off)),
            (
                (Allow, AutoApprove),
                AcceptEdits,
                plain,
                ports(),
                (Workspace, Ports),
            ),
            (
                (Allow, Grant),
                SessionMode::Ask,
                network,
                ports(),
                (Workspace, On),
            ),
            // The mode is the limit.
            ((Allow, Rules), ReadOnly, network, ports(), (Nothing, Off)),
        ];
        for (by, mode, access, settings, expected) in table {
            let found = confine(by, mode, access, settings, &complete());
            assert_eq!(found, Ok(Some(expected)), "{by:?} {mode:?} {access:?}");
        }
    }

    #[test]
    fn command_outside_the_sandbox_has_no_confinement() {
        let by = (PolicyAction::Ask, RuleSource::Mode);
        let outside = CommandAccess {
            outside: true,
            network: false,
        };
        let run = |access, settings, sandbox: &HostSandbox| {
            confine(by, SessionMode::Ask, access, settings, sandbox)
        };
        let usual = SandboxSettings::default;
        assert_eq!(run(outside, usual(), &complete()), Ok(None));
        let off = HostSandbox::default();
        assert_eq!(run(CommandAccess::default(), usual(), &off), Ok(None));
        // Required: nothing runs without all of it.
        let require = || SandboxSettings {
            require: true,
            ..SandboxSettings::default()
        };
        let refused = run(outside, require(), &complete()).unwrap_err();
        assert!(refused.contains("cannot run outside"), "{refused}");
        let refused = run(CommandAccess::default(), require(), &off).unwrap_err();
        assert!(refused.contains("it is off"), "{refused}");
        let partial = HostSandbox {
            gaps: vec!["no user namespaces".to_owned()],
            required: true,
            ..complete()
        };
        let refused = run(CommandAccess::default(), usual(), &partial).unwrap_err();
        assert!(refused.ends_with("no user namespaces"), "{refused}");
    }
}
