//! Whether two patterns of names may match one name.

use super::PatternForm;

/// Whether one name may match both patterns; true if uncertain.
pub(crate) fn may_overlap(one: &str, other: &str) -> bool {
    use PatternForm::{All, Exact, Glob, Nothing, Prefix, Suffix};
    let (Ok(one), Ok(other)) = (
        PatternForm::read(one, false),
        PatternForm::read(other, false),
    ) else {
        return true;
    };
    match (one, other) {
        (Nothing, _) | (_, Nothing) => false,
        (Exact(one), Exact(other)) => one == other,
        (Exact(name), Prefix(start)) | (Prefix(start), Exact(name)) => name.starts_with(start),
        (Exact(name), Suffix(end)) | (Suffix(end), Exact(name)) => name.ends_with(end),
        (Prefix(one), Prefix(other)) => one.starts_with(other) || other.starts_with(one),
        (Suffix(one), Suffix(other)) => one.ends_with(other) || other.ends_with(one),
        (All | Glob(_), _)
        | (_, All | Glob(_))
        | (Prefix(_), Suffix(_))
        | (Suffix(_), Prefix(_)) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlap_is_found_or_ruled_out_as_in_the_table() {
        let table = [
            ("a", "a", true),
            ("a", "b", false),
            ("ab", "a*", true),
            ("ba", "a*", false),
            ("ba", "*a", true),
            ("ab", "*a", false),
            ("a*", "ab*", true),
            ("a*", "b*", false),
            ("*a", "*ba", true),
            ("*a", "*b", false),
            ("a*", "*b", true),
            ("a", "*", true),
            ("a", "?", true),
            ("b", "{a,c}", true),
            ("*", "<nothing>", false),
        ];
        for (one, other, expected) in table {
            assert_eq!(may_overlap(one, other), expected, "{one} and {other}");
            assert_eq!(may_overlap(other, one), expected, "{other} and {one}");
        }
    }
}
