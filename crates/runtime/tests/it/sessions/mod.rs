//! Sessions from the outside: turns, asks, cancellation, subscriptions, recovery.

mod asks;
mod cancel;
mod crash;
mod daemon;
mod equipment;
mod follow;
mod lifecycle;
mod live;
mod named;
mod permissions;
mod queued;
mod reminders;
mod steering;
mod turns;
mod workers;
