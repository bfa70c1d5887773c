//! The words before a command of a person that request more access than the sandbox gives.

use harn_policy::CommandAccess;

/// Splits the words from the line that a person wrote.
pub(super) fn split(line: &str) -> (CommandAccess, &str) {
    let (mut access, mut rest) = (CommandAccess::default(), line);
    loop {
        let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        match word {
            "--network" => access.network = true,
            "--no-sandbox" => access.outside = true,
            _ => return (access, rest),
        }
        rest = after.trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_leading_words_request_access() {
        let table = [
            ("ls --network", false, false, "ls --network"),
            ("--network  curl x", true, false, "curl x"),
            ("--no-sandbox --network make", true, true, "make"),
            ("--networks x", false, false, "--networks x"),
            ("--network", true, false, ""),
        ];
        for (line, network, outside, rest) in table {
            let access = CommandAccess { network, outside };
            assert_eq!(split(line), (access, rest), "{line}");
        }
    }
}
