//! The schemas of `spec/schemas` for this wire, compiled into the program. A test compares them with the
//! types.

macro_rules! published {
    ($($file:literal)*) => {
        &[$(($file, include_str!(concat!("../../../spec/schemas/", $file)))),*]
    };
}

/// The schemas, as file name and text.
pub const SCHEMAS: &[(&str, &str)] = published! {
    "openharness-request.schema.json"
    "openharness-response.schema.json"
    "openharness-directives.schema.json"
    "openharness-extension.schema.json"
};

#[cfg(test)]
mod tests;
