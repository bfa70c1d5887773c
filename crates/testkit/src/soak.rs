//! The number of cases of tests that attack at random: few in CI, many in a soak run.

/// If this variable is `1`, tests that attack at random run ten times as many cases.
const SOAK: &str = "HARN_SOAK";

/// Returns how many random attacks a test makes: 100, or 1,000 with `HARN_SOAK=1`.
#[must_use]
pub fn attack_count() -> usize {
    #[expect(
        clippy::disallowed_methods,
        reason = "a test has no composition root that could hand it in"
    )]
    let soaks = std::env::var_os(SOAK).is_some_and(|value| value == "1");
    if soaks { 1_000 } else { 100 }
}
