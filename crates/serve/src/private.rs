//! Files and folders that only their owner can read or enter.

use std::{
    fs::{DirBuilder, OpenOptions},
    io,
    path::Path,
};

/// Creates a folder and its missing parents.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    folder_builder().recursive(true).create(path)
}

pub(crate) fn folder_builder() -> DirBuilder {
    #[cfg_attr(not(unix), allow(unused_mut, reason = "the mode is Unix's"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Returns options that create a missing file with mode 0600.
pub(crate) fn file_options() -> OpenOptions {
    #[cfg_attr(not(unix), allow(unused_mut, reason = "the mode is Unix's"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
