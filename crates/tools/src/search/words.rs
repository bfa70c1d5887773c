//! Splits text and questions into words and terms.
//!
//! Both go through the same steps, so a stem need not be a word; it must only be equal on both sides. No step
//! changes the first letter; the query relies on that to skip most words.

/// Returns the words of a line: letters, digits and underscores.
pub(super) fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
}

/// Calls `each` with the parts of an identifier, split at underscores and capitals: `HTTPServer_v2` is `HTTP`,
/// `Server`, `v2`. A plain word is its own only part.
pub(super) fn parts<'a>(word: &'a str, mut each: impl FnMut(&'a str)) {
    for piece in word.split('_').filter(|piece| !piece.is_empty()) {
        let mut start = 0;
        let mut before: Option<char> = None;
        let mut chars = piece.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let next_is_lower = chars.peek().is_some_and(|(_, next)| next.is_lowercase());
            let hump = c.is_uppercase()
                && before.is_some_and(|before| !before.is_uppercase() || next_is_lower);
            if hump {
                each(&piece[start..at]);
                start = at;
            }
            before = Some(c);
        }
        each(&piece[start..]);
    }
}

/// Returns whether a word has more than one part.
pub(super) fn is_compound(word: &str) -> bool {
    let mut count = 0;
    parts(word, |_| count += 1);
    count > 1
}

/// Returns whether a word only forms the question and is not searched for.
pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.split(' ').any(|stop| stop == word)
}

/// Sorted, lower case, with one space between two words.
const STOP_WORDS: &str = "\
    a about all also am an and any are as at be been but by can code codebase come comes could define \
    defined defines did do does doing exist exists explain file files for from give had happen happens \
    has have here how i if implement implemented implements in into is it its just lives located me mean \
    might must my of on or our overview please project purpose repo repository s should show so some \
    summarise summarize summary t tell than that the their them then there these they thing this those \
    to up us want was way we were what when where which who whose why will with work works workspace \
    would you your";

/// Forms that no rule covers.
const IRREGULAR: &[(&str, &str)] = &[
    ("began", "begin"),
    ("begun", "begin"),
    ("built", "build"),
    ("chose", "choose"),
    ("chosen", "choose"),
    ("drawn", "draw"),
    ("fed", "feed"),
    ("found", "find"),
    ("gave", "give"),
    ("given", "give"),
    ("held", "hold"),
    ("hidden", "hide"),
    ("kept", "keep"),
    ("lost", "lose"),
    ("made", "make"),
    ("ran", "run"),
    ("sent", "send"),
    ("shown", "show"),
    ("taken", "take"),
    ("thrown", "throw"),
    ("told", "tell"),
    ("took", "take"),
    ("torn", "tear"),
    ("woken", "wake"),
    ("written", "write"),
    ("wrote", "write"),
];

/// Returns a word in lower case, reduced by [`stem`].
pub(super) fn to_stem(word: &str) -> String {
    let mut word = word.to_lowercase();
    stem(&mut word);
    word
}

/// Reduces the forms of a lower-case word to one: plurals, `-ing`, `-ed`, doubled letters, a mute `e`.
pub(super) fn stem(word: &mut String) {
    if !word.is_ascii() || word.len() < 3 || word.bytes().any(|b| b.is_ascii_digit()) {
        return;
    }
    if let Ok(at) = IRREGULAR.binary_search_by_key(&word.as_str(), |(form, _)| form) {
        word.clear();
        word.push_str(IRREGULAR[at].1);
    }
    strip_plural(word);
    strip_verb_ending(word);
    if word.len() >= 5 && word.ends_with('e') {
        word.pop();
    }
    if word.len() >= 3 && is_doubled(word) {
        word.pop();
    }
}

fn strip_plural(word: &mut String) {
    let ends_with = |endings: &[&str]| endings.iter().any(|ending| word.ends_with(ending));
    let drop = if word.len() > 4 && ends_with(&["ies", "ied"]) {
        word.truncate(word.len() - 3);
        word.push('y');
        0
    } else if word.len() > 4 && ends_with(&["sses", "xes", "ches", "shes"]) {
        2
    } else if word.len() > 3 && word.ends_with('s') && !ends_with(&["ss", "us", "is"]) {
        1
    } else {
        0
    };
    word.truncate(word.len() - drop);
}

/// Removes `-ing` and `-ed` if a word remains.
fn strip_verb_ending(word: &mut String) {
    let rest = match word.strip_suffix("ing") {
        Some(rest) => rest,
        None => match word.strip_suffix("ed") {
            Some(rest) if !rest.ends_with('e') => rest,
            _ => return,
        },
    };
    if rest.len() < 2 || !rest.bytes().any(is_vowel) {
        return;
    }
    word.truncate(rest.len());
    // A short word doubles its last letter unless it had an `e`: `log`, `logged`; `save`, `saved`.
    let ends_in_one_consonant = match word.as_bytes() {
        [.., before, last] => is_vowel(*before) && !is_vowel(*last) && !matches!(last, b'w' | b'x'),
        _ => false,
    };
    if word.len() <= 3 && ends_in_one_consonant {
        word.push('e');
    }
}

fn is_doubled(word: &str) -> bool {
    matches!(word.as_bytes(), [.., before, last] if before == last)
}

fn is_vowel(letter: u8) -> bool {
    matches!(letter, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(word: &str) -> Vec<&str> {
        let mut out = Vec::new();
        parts(word, |part| out.push(part));
        out
    }

    #[test]
    fn identifiers_are_split_at_capitals_and_underscores() {
        assert_eq!(split("session_task"), ["session", "task"]);
        assert_eq!(split("SessionTask"), ["Session", "Task"]);
        assert_eq!(split("sessionTaskId"), ["session", "Task", "Id"]);
        assert_eq!(split("HTTPServer_v2"), ["HTTP", "Server", "v2"]);
        assert_eq!(split("MAX_BYTES"), ["MAX", "BYTES"]);
        assert_eq!(split("utf8"), ["utf8"]);
        assert_eq!(split("ÜberGröße"), ["Über", "Größe"]);
        assert_eq!(split("__"), Vec::<&str>::new());
        assert!(is_compound("SessionTask") && !is_compound("session"));
    }

    #[test]
    fn lines_are_split_into_words() {
        let got: Vec<_> = words("pub fn read_text(&self) -> Größe; // what's up?").collect();
        let expected = ["pub", "fn", "read_text", "self", "Größe", "what", "s", "up"];
        assert_eq!(got, expected);
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for family in [
            &["write", "writes", "writing", "written", "wrote"][..],
            &["run", "runs", "running", "ran"],
            &["cancel", "cancels", "cancelled", "canceled", "cancelling"],
            &["cache", "caches", "cached", "caching"],
            &["class", "classes"],
            &["match", "matches", "matched", "matching"],
            &["entry", "entries"],
            &["use", "uses", "used", "using"],
            &["session", "sessions"],
            &["setting", "settings", "set", "sets"],
            &["process", "processes", "processing", "processed"],
            &["send", "sends", "sent", "sending"],
            &["save", "saves", "saved", "saving"],
            &["log", "logs", "logged", "logging"],
            &["add", "adds", "added", "adding"],
            &["fix", "fixes", "fixed", "fixing"],
            &["apply", "applies", "applied"],
            &["close", "closes", "closed", "closing"],
        ] {
            let stems: Vec<_> = family.iter().map(|word| to_stem(word)).collect();
            assert!(
                stems.iter().all(|s| *s == stems[0]),
                "{family:?}: {stems:?}"
            );
        }
        for (one, other) in [
            ("mode", "mod"),
            ("string", "str"),
            ("need", "ne"),
            ("status", "statu"),
            ("use", "us"),
        ] {
            assert_ne!(to_stem(one), to_stem(other));
        }
    }

    #[test]
    fn tables_are_sorted_and_keep_first_letters() {
        assert!(STOP_WORDS.split(' ').is_sorted());
        assert!(IRREGULAR.is_sorted());
        assert!(IRREGULAR.iter().all(|(form, base)| form[..1] == base[..1]));
        assert!(is_stop_word("where") && !is_stop_word("journal"));
    }
}
