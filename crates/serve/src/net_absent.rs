//! Stands in for the port in a build without the feature `port`: there is no place to listen at, and no door to open.

use anyhow::Result;

use crate::{Options, workshop::Workshop};

/// The variable that holds a token, which a process with a port may still have been given.
pub(crate) const TOKEN_VARIABLE: &str = "HARN_SERVE_TOKEN";

/// Where to listen: nowhere.
pub(crate) enum Listen {}

/// A port that is open: none.
pub(crate) enum Door {}

impl Door {
    pub(crate) async fn open(_: &Workshop, _: &Options, nowhere: Listen) -> Result<Self> {
        match nowhere {}
    }

    pub(crate) fn announce(&mut self) {
        match *self {}
    }

    pub(crate) fn close(&self) {
        match *self {}
    }
}
