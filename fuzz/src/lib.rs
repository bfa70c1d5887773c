//! What the targets share: seeds out of the repository's own tables, and a disk that is only told of.

pub mod disk;
pub mod seeds;
