//! The keys that answer a permission question in `run` and `attach`; the web page uses the same ones.
//!
//! The order is fixed, the narrowest allow first. No capital letter creates a lasting rule: Shift is easily
//! pressed by accident.

use agent_client_protocol::v1::schema::{PermissionOption, PermissionOptionKind};

/// The ids of the options we know, with their keys, in display order.
const KNOWN: [(&str, &str); 5] = [
    ("allow_once", "y"),
    ("allow_session", "s"),
    ("allow_always", "w"),
    ("reject_once", "n"),
    ("reject_always", "x"),
];

/// Returns a permission question's options with their keys, in display order. An option without a letter of its
/// own has its position as key.
pub(crate) fn assign_keys(options: &[PermissionOption]) -> Vec<(String, &PermissionOption)> {
    let rank = |option: &PermissionOption| match letter(option) {
        Some(letter) => KNOWN.iter().position(|it| it.1 == letter),
        None => None,
    };
    let mut sorted: Vec<_> = options.iter().collect();
    sorted.sort_by_key(|option| rank(option).unwrap_or(KNOWN.len()));
    let mut keyed: Vec<(String, &PermissionOption)> = Vec::new();
    for option in sorted {
        let letter = letter(option).filter(|letter| keyed.iter().all(|it| it.0 != *letter));
        let place = || (keyed.len() + 1).to_string();
        keyed.push((letter.map_or_else(place, str::to_owned), option));
    }
    keyed
}

/// Returns the letter of an option: by its id, or by a kind that means the same whatever the id. The scope
/// of another agent's `allow_always` is unknown, so that option has no letter.
fn letter(option: &PermissionOption) -> Option<&'static str> {
    let by_id = |id: &str| KNOWN.iter().find(|it| it.0 == id).map(|it| it.1);
    by_id(&option.option_id.0).or_else(|| match option.kind {
        PermissionOptionKind::AllowOnce => by_id("allow_once"),
        PermissionOptionKind::RejectOnce => by_id("reject_once"),
        _ => None,
    })
}

/// Returns the position of the typed key. Capitals count only for the two answers that apply once.
pub(crate) fn key_position<K: AsRef<str>>(keys: &[K], typed: &str) -> Option<usize> {
    let typed = match typed {
        "Y" => "y",
        "N" => "n",
        typed => typed,
    };
    keys.iter().position(|key| key.as_ref() == typed)
}

/// Returns the error text for a key without a meaning.
pub(crate) fn invalid_key_message<K: AsRef<str>>(keys: &[K], typed: &str) -> String {
    let keys: Vec<_> = keys.iter().map(AsRef::as_ref).collect();
    let keys = match keys.as_slice() {
        [] => return format!("`{typed}` is not a valid answer"),
        [one] => (*one).to_owned(),
        [some @ .., last] => format!("{} or {last}", some.join(", ")),
    };
    format!("`{typed}` is not a valid answer; answer {keys}")
}

#[cfg(test)]
mod tests {
    use PermissionOptionKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};

    use super::*;

    fn keys(options: &[(&'static str, PermissionOptionKind)]) -> Vec<(String, String)> {
        let option = |(id, kind): &(&'static str, _)| PermissionOption::new(*id, "", *kind);
        let options: Vec<_> = options.iter().map(option).collect();
        let keyed = assign_keys(&options).into_iter();
        keyed
            .map(|(key, option)| (key, option.option_id.0.to_string()))
            .collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(key, id): &(&str, &str)| ((*key).to_owned(), (*id).to_owned());
        expected.iter().map(owned).collect()
    }

    #[test]
    fn letters_and_order_do_not_depend_on_the_agent() {
        let sent = [
            ("reject_always", RejectAlways),
            ("reject_once", RejectOnce),
            ("allow_always", AllowAlways),
            ("allow_session", AllowAlways),
            ("allow_once", AllowOnce),
        ];
        let expected = [
            ("y", "allow_once"),
            ("s", "allow_session"),
            ("w", "allow_always"),
            ("n", "reject_once"),
            ("x", "reject_always"),
        ];
        assert_eq!(keys(&sent), pairs(&expected));
    }

    #[test]
    fn an_unknown_option_has_a_number() {
        let sent = [
            ("forever", AllowAlways),
            ("go", AllowOnce),
            ("go again", AllowOnce),
            ("stop", RejectOnce),
            ("never", RejectAlways),
        ];
        let expected = [
            ("y", "go"),
            ("2", "go again"),
            ("n", "stop"),
            ("4", "forever"),
            ("5", "never"),
        ];
        assert_eq!(keys(&sent), pairs(&expected));
    }

    #[test]
    fn capitals_never_create_a_lasting_rule() {
        let keys = ["y", "s", "w", "n", "x"];
        assert_eq!(key_position(&keys, "Y"), Some(0));
        assert_eq!(key_position(&keys, "N"), Some(3));
        for typed in ["S", "W", "X", "q", "yes", "", "1"] {
            assert_eq!(key_position(&keys, typed), None, "{typed}");
        }
        let told = invalid_key_message(&keys, "q");
        assert_eq!(told, "`q` is not a valid answer; answer y, s, w, n or x");
    }
}
