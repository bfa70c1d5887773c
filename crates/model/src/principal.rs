//! What a principal owns.

use crate::Principal;

impl Principal {
    const OWNER: &'static str = "owner";

    /// Whoever runs the process. A session that names nobody is the owner's.
    #[must_use]
    pub fn owner() -> Self {
        Self::new(Self::OWNER)
    }

    /// Whether it is whoever runs the process.
    #[must_use]
    pub fn is_owner(&self) -> bool {
        self.as_str() == Self::OWNER
    }

    /// As a session keeps it: nothing for the owner.
    #[must_use]
    pub fn recorded(&self) -> Option<String> {
        (!self.is_owner()).then(|| self.as_str().to_owned())
    }

    /// Whether a session with this record is its own.
    #[must_use]
    pub fn owns(&self, recorded: Option<&str>) -> bool {
        recorded.unwrap_or(Self::OWNER) == self.as_str()
    }
}

impl Default for Principal {
    fn default() -> Self {
        Self::owner()
    }
}
