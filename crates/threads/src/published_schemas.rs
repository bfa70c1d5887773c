//! The published schemas of `spec/schemas`, embedded in the program.
//!
//! So a program needs no generator to read them; a test compares them with the types.

macro_rules! published {
    ($($file:literal)*) => {
        &[$(($file, include_str!(concat!("../../../spec/schemas/", $file)))),*]
    };
}

/// The schemas: file name and text.
pub const SCHEMAS: &[(&str, &str)] = published! {
    "threads-params.schema.json"
    "threads-results.schema.json"
    "threads-notifications.schema.json"
};
