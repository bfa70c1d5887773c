//! Finds the secrets among the arguments of a server and in its URL. Unlike a variable or a header, most arguments are
//! none, and messages that hide every file name would help nobody.

use reqwest::Url;

/// The last word of a name that announces a secret: `--api-key`, `GITHUB_TOKEN`.
const SECRET_WORDS: [&str; 19] = [
    "auth",
    "authorization",
    "bearer",
    "cookie",
    "credential",
    "credentials",
    "creds",
    "dsn",
    "jwt",
    "key",
    "pass",
    "passphrase",
    "password",
    "passwd",
    "pat",
    "pwd",
    "secret",
    "sig",
    "token",
];
/// The ends of names whose words nothing separates: `PGPASSWORD`, `--apikey`.
const SECRET_ENDS: [&str; 8] = [
    "accesskey",
    "apikey",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "secret",
    "token",
];
/// Schemes of the header `Authorization`, which precede the secret.
const SCHEMES: [&str; 4] = ["basic", "bearer", "digest", "token"];
/// The shortest run of letters and digits that counts as generated.
const GENERATED: usize = 16;

/// Returns the secrets in arguments: the values of names that announce one, the credentials and queries of URLs, and
/// words that look generated.
pub(super) fn find_secrets(args: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut before = "";
    for arg in args {
        found.extend(find_option_value(before, arg));
        before = arg;
        found.extend(find_in_text(arg));
        // An argument may be a line for a shell, or a header.
        let words = arg.split(|c: char| c.is_whitespace() || "\"'`;&|()<>".contains(c));
        let mut before = "";
        for word in words.filter(|word| !word.is_empty()) {
            found.extend(find_in_word(word));
            found.extend(find_option_value(before, word));
            // Before a quote, as in `TOKEN='X'`, the value is empty.
            let is_cut = find_in_text(before).is_some_and(|value| value.is_empty());
            if is_cut || is_scheme(before) {
                found.push(word.to_owned());
            }
            before = word;
        }
    }
    found
}

/// Returns the secrets in a URL: the user information, the query, the fragment, and parts of the path that look
/// generated.
pub(super) fn find_url_secrets(text: &str) -> Vec<String> {
    let Ok(url) = Url::parse(text) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    match url.password() {
        Some(password) => found.push(password.to_owned()),
        // A name without a password is mostly a token.
        None => found.push(url.username().to_owned()),
    }
    found.extend(url.query().map(str::to_owned));
    found.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
    found.extend(url.fragment().map(str::to_owned));
    let parts = url.path().split('/').filter(|part| is_generated(part));
    found.extend(parts.map(str::to_owned));
    found
}

/// Returns the rest of a text such as `X-Api-Key: value` or `--password=a b`.
fn find_in_text(text: &str) -> Option<String> {
    let (name, value) = split_value(text)?;
    (is_secret_name(name)).then(|| value.trim().to_owned())
}

fn find_in_word(word: &str) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(find_in_text(word));
    let value = split_value(word).map_or(word, |(_, value)| value);
    for text in [word, value] {
        if text.contains("://") {
            found.extend(find_url_secrets(text));
        }
    }
    if is_generated(value) && !value.contains("://") {
        found.push(value.to_owned());
    }
    found
}

/// Splits `name=value` and `name: value`. A URL is neither.
fn split_value(text: &str) -> Option<(&str, &str)> {
    let at = text.find(['=', ':'])?;
    let (name, value) = (&text[..at], &text[at + 1..]);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (!name.is_empty() && name.chars().all(plain) && !value.starts_with("//"))
        .then_some((name, value))
}

/// Returns a secret value of the option before it: all of it after one such as `--token`, the password in
/// `-u name:password`. A value may begin with `-`; what begins with `--` is mostly the next option.
fn find_option_value(option: &str, value: &str) -> Option<String> {
    let is_secret = option.starts_with('-') && !option.contains('=') && is_secret_name(option);
    if is_secret && !value.starts_with("--") {
        return Some(value.to_owned());
    }
    let login = match option {
        "-u" | "--user" => value,
        _ => value.strip_prefix("--user=")?,
    };
    let (_, password) = login.split_once(':')?;
    // Numbers are the ids of a user and a group.
    let is_id = password.bytes().all(|byte| byte.is_ascii_digit());
    (!is_id && !password.starts_with("//")).then(|| password.to_owned())
}

fn is_scheme(word: &str) -> bool {
    SCHEMES
        .iter()
        .any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// Whether a name announces a secret, by its last word.
fn is_secret_name(name: &str) -> bool {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut lower = false;
    for c in name.chars() {
        // `apiKey` has two words.
        if !c.is_ascii_alphanumeric() || (lower && c.is_ascii_uppercase()) {
            words.push(std::mem::take(&mut word));
        }
        lower = c.is_ascii_lowercase();
        if c.is_ascii_alphanumeric() {
            word.push(c.to_ascii_lowercase());
        }
    }
    words.push(word);
    let last = words.last().map_or("", String::as_str);
    SECRET_WORDS.contains(&last) || SECRET_ENDS.iter().any(|end| last.ends_with(end))
}

/// Whether a word looks like a generated key: a long run of letters and digits, or a long word of base64.
fn is_generated(word: &str) -> bool {
    let mixed = |text: &str| {
        let has = |is: fn(&char) -> bool| text.chars().any(|c| is(&c));
        has(char::is_ascii_digit)
            && (has(char::is_ascii_lowercase) || has(char::is_ascii_uppercase))
    };
    let mut runs = word.split(|c: char| !c.is_ascii_alphanumeric());
    if runs.any(|run| run.len() >= GENERATED && mixed(run)) {
        return true;
    }
    let base64 = |c: char| c.is_ascii_alphanumeric() || "+/=_-".contains(c);
    let has = |is: fn(&char) -> bool| word.chars().any(|c| is(&c));
    word.len() >= 2 * GENERATED
        && word.chars().all(base64)
        && !word.starts_with(['/', '-'])
        && has(char::is_ascii_digit)
        && has(char::is_ascii_lowercase)
        && has(char::is_ascii_uppercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_found_in_every_form_of_an_argument() {
        for (args, expected) in [
            (&["--token", "hunter2"][..], &["hunter2"][..]),
            (&["--api-key=hunter2"], &["hunter2"]),
            (&["-apiKey", "hunter2"], &["hunter2"]),
            (&["API_KEY=hunter2", "server"], &["hunter2"]),
            (&["PGPASSWORD=hunter2"], &["hunter2"]),
            (&["--header", "X-Api-Key: hunter 2"], &["hunter 2"]),
            (
                &["Authorization: Bearer hunter2"],
                &["Bearer hunter2", "hunter2"],
            ),
            (&["-c", "TOKEN='hunter2' server"], &["hunter2"]),
            (&["-c", "exec server --secret hunter2 x"], &["hunter2"]),
            (
                &["--connection-string", "Server=db;Uid=a;Pwd=hunter2"],
                &["hunter2"],
            ),
            (&["--creds", "hunter2"], &["hunter2"]),
            (&["--url-sig=hunter2"], &["hunter2"]),
            (&["-u", "ada:hunter2"], &["hunter2"]),
            (&["--user=ada:hunter2"], &["hunter2"]),
            (&["-c", "curl --user ada:hunter2 x"], &["hunter2"]),
            (&["--token", "-hunter2"], &["-hunter2"]),
            (&["-c", "exec server --token -hunter2"], &["-hunter2"]),
            (&["postgres://ada:hunter2@db/x"], &["hunter2"]),
            (&["--db=postgres://ada:hunter2@db/x"], &["hunter2"]),
            (&["https://hunter2@git.example/x"], &["hunter2"]),
            (
                &["--url", "https://a.example/?k=hunter2"],
                &["k=hunter2", "hunter2"],
            ),
            (
                &["ghp_16C7e42F292c6912E7710c838347Ae178B4a"],
                &["ghp_16C7e42F292c6912E7710c838347Ae178B4a"],
            ),
            (
                &["wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"],
                &["wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"],
            ),
            (
                &["https://a.example/s/0f9c21aa5d07be14/mcp"],
                &["0f9c21aa5d07be14"],
            ),
        ] {
            let args: Vec<_> = args.iter().map(|&arg| arg.to_owned()).collect();
            let found = find_secrets(&args);
            for secret in expected {
                assert!(found.iter().any(|it| it == secret), "{args:?}: {found:?}");
            }
        }
    }

    #[test]
    fn other_arguments_are_no_secrets() {
        for args in [
            &["--root", "/home/ada/projects/server2"][..],
            &["-y", "@modelcontextprotocol/server-everything@2025.1.14"],
            &["--max-tokens", "4096"],
            &["--key-file", "/etc/server.pem"],
            &["--token", "--verbose"],
            &["-c", "server --token --verbose"],
            &["--mode=token", "fast"],
            &["--user", "1000:1000", "-u", "ada"],
            &["run", "server.py", "--port=8080", "--mode", "fast"],
            &["https://docs.example/mcp"],
            &["-c", "cd src && exec ./server --stdio"],
            &["src/Generated/Server.cs"],
        ] {
            let args: Vec<_> = args.iter().map(|&arg| arg.to_owned()).collect();
            let mut found = find_secrets(&args);
            found.retain(|it| !it.is_empty());
            assert_eq!(found, Vec::<String>::new(), "{args:?}");
        }
    }
}
