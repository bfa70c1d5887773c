//! The binary under test, for tests that start it.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use anyhow::{Context, Result, ensure};

/// Returns the binary under test: `HARN_SERVE` if it is set, else the one built beside this test.
pub fn binary() -> Result<&'static Path> {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    if let Some(path) = BINARY.get() {
        return Ok(path);
    }
    let built = build()?;
    Ok(BINARY.get_or_init(|| built))
}

fn build() -> Result<PathBuf> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a test has no composition root that could hand it in"
    )]
    if let Some(given) = std::env::var_os("HARN_SERVE") {
        return Ok(given.into());
    }
    // This test is <target>/<profile>/deps/<name>. Cargo does not build another package's binary for a test.
    // The workspace is built with the same features as the tests, so this build has little to do.
    let this = std::env::current_exe()?;
    let profile = this.ancestors().nth(2).context("no profile folder")?;
    let target = profile.parent().context("no target folder")?;
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["build", "--workspace", "--bin", "harn-serve"])
        .arg("--target-dir")
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    if cfg!(feature = "sdk-http") {
        cargo.args(["--features", "harn-tests/sdk-http"]);
    }
    if profile.ends_with("release") {
        cargo.arg("--release");
    }
    let built = cargo.output().context("cargo could not be started")?;
    ensure!(
        built.status.success(),
        "harn-serve did not build:\n{}",
        String::from_utf8_lossy(&built.stderr)
    );
    Ok(profile.join(format!("harn-serve{}", std::env::consts::EXE_SUFFIX)))
}
