//! The derive `JsonSchema` for builds without schemas: it accepts the attributes of `schemars` and `serde`, and
//! expands to nothing.
//!
//! Only tests generate schemas from types. With the feature `schema`, a crate uses the derive of `schemars` instead
//! of this one. Without it, the program has neither that code nor its compile time.

use proc_macro::TokenStream;

/// Expands to nothing.
#[proc_macro_derive(JsonSchema, attributes(schemars, serde))]
pub fn json_schema(_: TokenStream) -> TokenStream {
    TokenStream::new()
}
