//! Has the linker put what runs before the first answer side by side: less memory at start.
#![allow(
    clippy::disallowed_methods,
    reason = "a build script learns everything from its environment"
)]

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=startup.ld");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    println!("cargo::rerun-if-env-changed=HARN_STARTUP_ORDER");
    // Other systems take no such script, nor do some linkers that a person may have chosen; and debug builds
    // are not worth the time.
    let elf = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux");
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let chosen = env::var_os("RUSTC_LINKER").is_some() || flags.contains("link");
    // For who makes the script anew: profilers look for names where code usually lies.
    let off = env::var("HARN_STARTUP_ORDER").is_ok_and(|order| order == "off");
    let release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    if let Ok(dir) = env::var("CARGO_MANIFEST_DIR")
        && elf
        && !chosen
        && !off
        && release
    {
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{dir}/startup.ld");
    }
}
