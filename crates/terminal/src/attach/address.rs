//! Addresses of servers: sockets in the state directory, or a URL with a token.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, bail};
use tokio_tungstenite::tungstenite::http::Uri;

#[derive(Clone, Debug)]
pub(super) enum ServerAddress {
    Socket(PathBuf),
    Url(RemoteAddress),
}

#[derive(Clone)]
pub(super) struct RemoteAddress {
    pub(super) url: Uri,
    pub(super) token: String,
    /// Certificate authorities to trust in addition to the system's.
    pub(super) ca: Option<PathBuf>,
}

// The token must not appear in logs.
impl fmt::Debug for RemoteAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.url)
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => write!(f, "{}", path.display()),
            Self::Url(remote) => write!(f, "{}", remote.url),
        }
    }
}

/// Returns the sockets in a state directory. Some may belong to a server that was killed.
pub(super) fn list_sockets(state_dir: &Path) -> Vec<ServerAddress> {
    let Ok(files) = fs::read_dir(state_dir.join("live")) else {
        return Vec::new();
    };
    let is_socket = |path: &PathBuf| path.extension().is_some_and(|it| it == "sock");
    let mut paths: Vec<_> = files
        .filter_map(|file| Some(file.ok()?.path()))
        .filter(is_socket)
        .collect();
    paths.sort();
    paths.into_iter().map(ServerAddress::Socket).collect()
}

/// Parses a URL; the default path is `/acp`.
pub(super) fn parse_url(given: &str) -> Result<Uri> {
    let wanted = "must be ws://HOST:PORT/acp or wss://HOST:PORT/acp";
    let uri: Uri = given
        .parse()
        .map_err(|_| anyhow!("--url {given}: {wanted}"))?;
    let scheme = uri.scheme_str();
    if !matches!(scheme, Some("ws" | "wss")) || uri.host().is_none_or(str::is_empty) {
        bail!("--url {given}: {wanted}");
    }
    if uri.path() != "/" {
        return Ok(uri);
    }
    let mut parts = uri.into_parts();
    parts.path_and_query = Some("/acp".parse()?);
    Ok(Uri::from_parts(parts)?)
}

/// Returns whether others on the network can read the traffic to this URL.
pub(super) fn is_exposed(url: &Uri) -> bool {
    let host = url.host().unwrap_or_default().trim_matches(['[', ']']);
    let local = host == "localhost"
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback());
    url.scheme_str() != Some("wss") && !local
}

/// Returns the token of a server. `file` has priority over `given`, which has priority over `default`. In a
/// file, a line without a name or with the name `owner` has priority over the first line.
pub(super) fn read_token(
    given: Option<String>,
    file: Option<&Path>,
    default: &Path,
) -> Result<String> {
    if let (Some(token), None) = (given, file) {
        return Ok(token.trim().to_owned());
    }
    let path = file.unwrap_or(default);
    let text = fs::read_to_string(path).with_context(|| {
        format!(
            "no token: cannot read {}; give a file with --token-file, or set HARN_SERVE_TOKEN",
            path.display()
        )
    })?;
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut first = None;
    for line in lines {
        match line.split_once(char::is_whitespace) {
            None => return Ok(line.to_owned()),
            Some(("owner", token)) => return Ok(token.trim().to_owned()),
            Some((_, token)) => first = first.or(Some(token.trim().to_owned())),
        }
    }
    first.with_context(|| format!("{}: no token in this file", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_requires_a_websocket_scheme_and_a_host() {
        let table = [
            ("ws://127.0.0.1:4000", Some("ws://127.0.0.1:4000/acp")),
            ("wss://agents.example/", Some("wss://agents.example/acp")),
            ("ws://[::1]:4000/other", Some("ws://[::1]:4000/other")),
            ("http://127.0.0.1", None),
            ("127.0.0.1:4000", None),
            ("ws://", None),
        ];
        for (given, wanted) in table {
            let url = parse_url(given).map(|url| url.to_string());
            assert_eq!(url.ok().as_deref(), wanted, "{given}");
        }
    }

    #[test]
    fn only_unencrypted_remote_urls_are_exposed() {
        let exposed = |given: &str| is_exposed(&parse_url(given).unwrap());
        assert!(exposed("ws://agents.example"));
        assert!(exposed("ws://10.0.0.7:1"));
        for safe in [
            "wss://agents.example",
            "ws://127.0.0.1:1",
            "ws://[::1]:1",
            "ws://localhost",
        ] {
            assert!(!exposed(safe), "{safe}");
        }
    }

    #[test]
    fn the_owner_line_of_a_token_file_has_priority() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("token");
        let read = |text: &str| {
            fs::write(&file, text).unwrap();
            read_token(None, Some(&file), Path::new("/none"))
        };
        assert_eq!(read("abc\n").unwrap(), "abc");
        assert_eq!(read("ada one\nowner two\n").unwrap(), "two");
        assert_eq!(read("ada one\n").unwrap(), "one");
        assert_eq!(read("# the owner's\n#old\nabc\n").unwrap(), "abc");
        assert!(read("# none\n").is_err());
        assert!(read("\n").is_err());
        let given = || Some("given".to_owned());
        assert_eq!(read_token(given(), None, &file).unwrap(), "given");
        assert!(read_token(given(), Some(&file), &file).is_err());
        let missing = read_token(None, None, Path::new("/none")).unwrap_err();
        assert!(format!("{missing:#}").contains("--token-file"));
    }
}
