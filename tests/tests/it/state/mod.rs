//! The state wire of the real server under failures: the process is killed, the disk is full, or a client does
//! not read, sends invalid commands, or connects with too many others.

mod connection_limit;
mod full_disk;
mod invalid_input;
mod killed;
mod restart;
mod server;
mod slow_reader;
