//! Sessions from the outside: turns, asks, cancellation, subscriptions, recovery.

#![allow(unreachable_pub, reason = "a test binary exports nothing")]

mod asks;
mod cancel;
mod crash;
mod follow;
mod lifecycle;
mod support;
mod turns;
