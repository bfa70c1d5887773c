//! Limits the size of the crates: the lines of code of each, and of all together.
//!
//! A commit that raises a budget states why.

use crate::{numbers::Numbers, repo::File};

/// The most production lines of all crates together, including comments and blank lines.
const ALL_LINES: usize = 115_600;

/// The most lines of code that one crate may have.
const CRATE_CODE: usize = 12_000;

/// The most that `tools` may have: files, commands, MCP and skills of a session.
const TOOLS_CODE: usize = 15_800;

/// Checks that each crate, and all together, stay within their budgets.
pub(super) fn budgets(files: &[File]) -> Vec<String> {
    over_budget(&Numbers::from_files(files))
}

fn over_budget(numbers: &Numbers) -> Vec<String> {
    let all = numbers.total().lines;
    let whole = (all > ALL_LINES).then(|| {
        format!("crates: {all} production lines, {ALL_LINES} is the most; remove some, or raise the budget in a commit that states why")
    });
    let long = numbers.0.iter().filter_map(|(name, it)| {
        let (code, most) = (it.code, if name == "tools" { TOOLS_CODE } else { CRATE_CODE });
        (code > most).then(|| {
            format!("crates/{name}: {code} lines of code, {most} is the most; move a part into a crate of its own")
        })
    });
    whole.into_iter().chain(long).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::Length;

    #[test]
    fn crate_over_its_budget_is_found() {
        let of_crate = |name: &str, lines, code| {
            let length = Length { lines, code };
            over_budget(&Numbers([(name.to_owned(), length)].into()))
        };
        let of = |lines, code| of_crate("a", lines, code);
        assert!(of(ALL_LINES, CRATE_CODE).is_empty());
        assert!(of(ALL_LINES + 1, 1)[0].starts_with("crates: "));
        assert!(of(1, CRATE_CODE + 1)[0].starts_with("crates/a: "));
        assert!(of_crate("tools", 1, TOOLS_CODE).is_empty());
        assert!(of_crate("tools", 1, TOOLS_CODE + 1)[0].starts_with("crates/tools: "));
    }
}
