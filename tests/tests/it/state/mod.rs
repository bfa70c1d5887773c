//! The state wire at the real server, when things go wrong: the process is killed, the disk is full, a client
//! does not read, sends what is no command, or comes with too many others.

mod full_disk;
mod garbage;
mod killed;
mod returning;
mod server;
mod storm;
mod unread;
