//! Has the linker put what runs before the first answer side by side: less memory at start.

fn main() {
    println!("cargo::rerun-if-changed=startup.ld");
    let target = |what: &str| std::env::var(format!("CARGO_CFG_TARGET_{what}"));
    // Other linkers take no such script, and debug builds are not worth the time.
    let elf = target("OS").is_ok_and(|os| os == "linux");
    let release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    if let Ok(dir) = std::env::var("CARGO_MANIFEST_DIR")
        && elf
        && release
    {
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{dir}/startup.ld");
    }
}
