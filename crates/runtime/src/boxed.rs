//! The future that a large asynchronous function returns.

use std::{future::Future, pin::Pin};

/// A boxed future. The compiler puts the body of an `async fn` into every crate that awaits it, often several times. A
/// plain function that returns this is compiled once, in its own crate. Use it for large functions that run rarely:
/// each call allocates.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
