//! Keeps the crates small: how many lines of code each may have, and all of them together.
//!
//! Whoever raises a budget says why in the commit that does so.

use crate::{numbers::Numbers, repo::File};

/// The most production lines of all crates together, comments and blank lines among them.
const ALL_LINES: usize = 111_000;

/// The most lines of code that one crate may have.
const CRATE_CODE: usize = 16_000;

/// No crate, and not the whole, is longer than its budget.
pub(super) fn budgets(files: &[File]) -> Vec<String> {
    over(&Numbers::of(files))
}

fn over(numbers: &Numbers) -> Vec<String> {
    let all = numbers.total().lines;
    let whole = (all > ALL_LINES).then(|| {
        format!("crates: {all} production lines, {ALL_LINES} is the most; remove some, or raise the budget in a commit that says why")
    });
    let long = numbers.0.iter().filter(|(_, it)| it.code > CRATE_CODE);
    let long = long.map(|(name, it)| {
        let code = it.code;
        format!("crates/{name}: {code} lines of code, {CRATE_CODE} is the most; move a part into a crate of its own")
    });
    whole.into_iter().chain(long).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::Length;

    #[test]
    fn what_is_too_long_is_found() {
        let of = |lines, code| {
            let length = Length { lines, code };
            over(&Numbers([("a".to_owned(), length)].into()))
        };
        assert!(of(ALL_LINES, CRATE_CODE).is_empty());
        assert!(of(ALL_LINES + 1, 1)[0].starts_with("crates: "));
        assert!(of(1, CRATE_CODE + 1)[0].starts_with("crates/a: "));
    }
}
