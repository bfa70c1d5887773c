//! The derive `JsonSchema` in builds that make no schema: it accepts the attributes of `schemars` and `serde`, and expands to nothing.
//!
//! Only tests make schemas from types. With the feature `schema`, a crate takes the derive of `schemars` in place of
//! this one. Without it, the program has neither that code nor the time to compile it.

use proc_macro::TokenStream;

/// Expands to nothing.
#[proc_macro_derive(JsonSchema, attributes(schemars, serde))]
pub fn json_schema(_: TokenStream) -> TokenStream {
    TokenStream::new()
}
