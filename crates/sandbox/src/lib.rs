//! Confines a command with what the operating system provides, without a policy of its own.
//!
//! A program that starts commands is its own helper: it calls [`dispatch`] first in `main`, and wraps each command
//! with [`SandboxHelper::wrap`], so that the command starts through the same program. The helper builds the sandbox,
//! stays until the command has ended, and ends every process that the command left behind.

mod confinement;
mod git;
mod helper;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other_systems;
#[cfg(any(target_os = "macos", test))]
mod seatbelt;
mod support;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use other_systems as system;

pub use confinement::{CacheOverlay, Confinement, NetworkAccess, ResourceLimits};
pub use git::protected_git_paths;
pub use helper::{HelperCommand, SETUP_FAILED, SandboxError, SandboxHelper, dispatch};
pub use support::{SandboxLayer, SandboxSupport};
