//! Programs that some tests need besides Rust. A test whose program is missing is skipped, with a line that
//! names the program. Crates below this one include this file by its path, so it uses nothing but `std`.

use std::{
    env,
    ffi::OsStr,
    io::{self, Write as _},
    thread,
};

/// If this variable is set, a missing program is an error. CI sets it, so that CI skips nothing.
const REQUIRE_ALL: &str = "HARN_TESTS_REQUIRE_ALL";

/// Returns whether the calling test has to be skipped because `program` is not in `PATH`.
///
/// # Panics
///
/// If the program is missing and `HARN_TESTS_REQUIRE_ALL` is set.
#[must_use]
pub fn skip_without(program: &str) -> bool {
    #[expect(
        clippy::disallowed_methods,
        reason = "a test has no composition root that could hand it in"
    )]
    let variable = |name| env::var_os(name).unwrap_or_default();
    if is_in(&variable("PATH"), program) {
        return false;
    }
    // The harness names the thread of a test after the test.
    let thread = thread::current();
    let test = thread.name().unwrap_or("a test");
    assert!(
        variable(REQUIRE_ALL).is_empty(),
        "{test} needs `{program}`, which is missing, and {REQUIRE_ALL} forbids skipping it"
    );
    // The harness captures what a passing test prints with `eprintln!`. One write keeps the line whole among those
    // of other tests. If stderr is closed, the line is lost, which fails no test.
    let line = format!("skip: {test} needs `{program}`\n");
    let _ = io::stderr().write_all(line.as_bytes());
    true
}

fn is_in(path: &OsStr, program: &str) -> bool {
    env::split_paths(path).any(|folder| folder.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_is_found_in_any_folder_of_the_path() {
        let path = env::join_paths(["/nowhere", "/bin"]);
        let path = path.unwrap_or_default();
        assert!(is_in(&path, "sh"));
        assert!(!is_in(&path, "no-such-program"));
        assert!(!is_in(OsStr::new("/nowhere"), "sh"));
    }
}
