//! Principals: the owner of the process, and which sessions a principal owns.

use crate::Principal;

impl Principal {
    const OWNER: &'static str = "owner";

    /// Returns the user who runs the process. A session that records no principal is the owner's.
    pub fn owner() -> Self {
        Self::new(Self::OWNER)
    }

    /// Whether it is the user who runs the process.
    pub fn is_owner(&self) -> bool {
        self.as_str() == Self::OWNER
    }

    /// Returns the name that a session records: none for the owner.
    pub fn recorded_name(&self) -> Option<String> {
        (!self.is_owner()).then(|| self.as_str().to_owned())
    }

    /// Whether a session with this record belongs to the principal.
    pub fn owns(&self, recorded: Option<&str>) -> bool {
        recorded.unwrap_or(Self::OWNER) == self.as_str()
    }
}

impl Default for Principal {
    fn default() -> Self {
        Self::owner()
    }
}
