//! Replaces the module `net` in a build without the feature `port`. Its types have no values.

use anyhow::Result;

use crate::{ServeOptions, server_runtime::ServerRuntime};

pub(crate) enum ListenOptions {}

impl ListenOptions {
    pub(crate) fn hide_secrets(&self, _: &mut ServeOptions) {
        match *self {}
    }
}

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
