//! Session ids as people abbreviate them and as messages list them.

/// Returns whether `id` starts with `wanted`. The prefix `ses_` of our ids is optional.
pub fn matches_prefix(id: &str, wanted: &str) -> bool {
    let rest = id.strip_prefix("ses_");
    id.starts_with(wanted) || rest.is_some_and(|rest| rest.starts_with(wanted))
}

/// Joins ids for a message; names the first five and counts the rest.
pub fn join_ids<'a>(ids: impl ExactSizeIterator<Item = &'a str>) -> String {
    const NAMED: usize = 5;
    let more = ids.len().saturating_sub(NAMED);
    let named: Vec<_> = ids.take(NAMED).collect();
    match more {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_five_ids_and_counts_the_rest() {
        assert_eq!(join_ids(["a", "b"].into_iter()), "a, b");
        let many = ["a", "b", "c", "d", "e", "f", "g"];
        assert_eq!(join_ids(many.into_iter()), "a, b, c, d, e and 2 more");
    }

    #[test]
    fn a_session_id_matches_without_its_prefix() {
        assert!(matches_prefix("ses_0198", "019") && matches_prefix("ses_0198", "ses_0"));
        assert!(!matches_prefix("ses_0198", "98"));
    }
}
