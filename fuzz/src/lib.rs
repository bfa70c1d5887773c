//! What the targets share: seeds from the repository's own tables, a simulated disk, and a hub.

pub mod disk;
pub mod hub;
pub mod seeds;
