//! Stands in for the port in a build without the feature `port`: there is no place to listen at, and no door to open.

use anyhow::Result;

use crate::{ServeOptions, workshop::ServerRuntime};

/// The variable that holds a token, which a process with a port may still have been given.
pub(crate) const TOKEN_VARIABLE: &str = "HARN_SERVE_TOKEN";

/// Where to listen: nowhere.
pub(crate) enum ListenOptions {}

/// A port that is open: none.
pub(crate) enum OpenPort {}

impl OpenPort {
    pub(crate) async fn open(
        _: &ServerRuntime,
        _: &ServeOptions,
        nowhere: ListenOptions,
    ) -> Result<Self> {
        match nowhere {}
    }

    pub(crate) fn announce(&mut self) {
        match *self {}
    }

    pub(crate) fn close(&self) {
        match *self {}
    }
}
