//! What the system provides, in words for people and for receipts.

use serde::{Deserialize, Serialize};

/// A part of the sandbox that a system may provide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxLayer {
    /// Namespaces of Linux: the command has its own view of files and processes.
    Namespaces,
    /// Landlock of Linux: the kernel checks each opened path and each TCP port.
    Landlock,
    /// seccomp of Linux: the kernel refuses some system calls.
    Seccomp,
    /// The sandbox of macOS, from a generated profile.
    Seatbelt,
}

impl SandboxLayer {
    /// Returns the stable name, as in receipts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::Seatbelt => "seatbelt",
        }
    }
}

/// What this system provides for a sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxSupport {
    /// The layers that work here.
    pub layers: Vec<SandboxLayer>,
    /// What does not work here, each with its reason and consequence, in one sentence.
    pub gaps: Vec<String>,
}

impl SandboxSupport {
    /// Returns the support of a system without a sandbox.
    pub fn none(reason: impl Into<String>) -> Self {
        Self {
            layers: Vec::new(),
            gaps: vec![reason.into()],
        }
    }

    /// Returns whether the sandbox has no gap.
    pub fn is_complete(&self) -> bool {
        self.gaps.is_empty() && !self.is_none()
    }

    /// Returns whether there is no sandbox at all: no layer limits files.
    pub fn is_none(&self) -> bool {
        self.layers.iter().all(|layer| match layer {
            SandboxLayer::Namespaces | SandboxLayer::Landlock | SandboxLayer::Seatbelt => false,
            SandboxLayer::Seccomp => true,
        })
    }

    /// Returns whether a layer works here.
    pub fn has(&self, layer: SandboxLayer) -> bool {
        self.layers.contains(&layer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seccomp_alone_is_no_sandbox() {
        let of = |layers: &[SandboxLayer]| SandboxSupport {
            layers: layers.to_vec(),
            gaps: Vec::new(),
        };
        assert!(of(&[]).is_none());
        assert!(of(&[SandboxLayer::Seccomp]).is_none());
        assert!(!of(&[SandboxLayer::Landlock, SandboxLayer::Seccomp]).is_none());
        assert!(!of(&[SandboxLayer::Namespaces]).is_none());
        assert!(!of(&[SandboxLayer::Seatbelt]).is_none());
    }
}
