//! What the targets share: seeds out of the repository's own tables, a disk that is only told of, and a hub to
//! talk to.

pub mod disk;
pub mod hub;
pub mod seeds;
