//! Limits on resources.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::{SetupError, failed};
use crate::ResourceLimits;

pub(super) fn set(limits: ResourceLimits) -> Result<(), SetupError> {
    set_one(Resource::Nproc, limits.processes)?;
    // Programs such as Node reserve far more address space than memory, so the limit is on memory they may write.
    set_one(Resource::Data, limits.memory_bytes)
}

/// Lowers a limit; a stricter one of the server stays.
fn set_one(resource: Resource, limit: Option<u64>) -> Result<(), SetupError> {
    let Some(limit) = limit else {
        return Ok(());
    };
    let least = getrlimit(resource)
        .maximum
        .map_or(limit, |most| most.min(limit));
    let both = Rlimit {
        current: Some(least),
        maximum: Some(least),
    };
    setrlimit(resource, both).map_err(failed("cannot set a limit"))
}
