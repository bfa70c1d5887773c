//! Who is on the other end of a connection, by the credential it came with.

use std::{fmt, sync::Arc};

/// A principal sees its own sessions and no others. One process mostly has one: its owner.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Principal(Arc<str>);

impl Principal {
    const OWNER: &'static str = "owner";

    /// Whoever runs the process. A session that names nobody is the owner's.
    #[must_use]
    pub fn owner() -> Self {
        Self(Self::OWNER.into())
    }

    /// A principal by name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// Its name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
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

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}
