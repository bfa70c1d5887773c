//! The state wire of the real server under failures: the process is killed, the disk is full, or a client does
//! not read, sends invalid commands, or connects with too many others.

mod full_disk;
mod garbage;
mod killed;
mod returning;
mod server;
mod storm;
mod unread;
