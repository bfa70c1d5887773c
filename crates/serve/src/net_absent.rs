//! Stands in for the port in a build without the feature `port`: no value of these types exists.

use anyhow::Result;

use crate::{ServeOptions, workshop::ServerRuntime};

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
