//! The schemas of `spec/schemas` as they are published, a part of the program.
//!
//! A program needs no generator to know them; a test compares them with what the types say.

macro_rules! published {
    ($($file:literal)*) => {
        &[$(($file, include_str!(concat!("../../../spec/schemas/", $file)))),*]
    };
}

/// The texts by file name.
pub const SCHEMAS: &[(&str, &str)] = published! {
    "state-frames.schema.json"
    "state-commands.schema.json"
    "state-sessions.schema.json"
    "state-timeline.schema.json"
};
