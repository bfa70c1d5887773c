//! Sessions from the outside: turns, asks, cancellation, subscriptions, recovery.

mod asks;
mod cancel;
mod crash;
mod daemon;
mod equipment;
mod lifecycle;
mod live_clients;
mod named_sessions;
mod permissions;
mod queued_prompts;
mod reminders;
mod steering;
mod subscriptions;
mod turns;
mod workers;
