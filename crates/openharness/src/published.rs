//! The schemas of `spec/schemas` that are about this wire, a part of the program. A test compares them with
//! what the types say.

macro_rules! published {
    ($($file:literal)*) => {
        &[$(($file, include_str!(concat!("../../../spec/schemas/", $file)))),*]
    };
}

/// The texts by file name.
pub const SCHEMAS: &[(&str, &str)] = published! {
    "openharness-request.schema.json"
    "openharness-response.schema.json"
    "openharness-directives.schema.json"
    "openharness-extension.schema.json"
};

#[cfg(test)]
mod tests;
