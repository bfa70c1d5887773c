//! The URL of the page, and opening a browser on it.

use std::{
    io::{self, Write},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    process::{Command, Stdio},
    thread,
};

use crate::options::TOKEN_VARIABLE;

/// Returns the URL to open. The code is in the fragment, which browsers do not send.
pub(super) fn page_url(listens: SocketAddr, secure: bool, code: &str) -> String {
    let scheme = if secure { "https" } else { "http" };
    // An unspecified address cannot be opened.
    let ip = match listens.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip @ (IpAddr::V4(_) | IpAddr::V6(_)) => ip,
    };
    let at = SocketAddr::new(ip, listens.port());
    format!("{scheme}://{at}/#code={code}")
}

/// Opens the URL without waiting: the opening command may run as long as the browser.
pub(super) fn open_browser(url: &str) {
    let to_open = url.to_owned();
    let work = move || {
        if !open::commands(&to_open).into_iter().any(run_opener) {
            complain(&to_open);
        }
    };
    let thread = thread::Builder::new().name("harn-browser".to_owned());
    if thread.spawn(work).is_err() {
        complain(url);
    }
}

fn run_opener(mut command: Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // The browser must not receive the token.
        .env_remove(TOKEN_VARIABLE);
    // Ctrl-C in the server's terminal must not end the browser.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.status().is_ok_and(|status| status.success())
}

fn complain(url: &str) {
    // Without stderr, there is no reader.
    let _ = writeln!(
        io::stderr(),
        "harn-serve: cannot open a browser; open this address by hand: {url}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_url_has_an_address_that_can_be_opened() {
        for (listens, secure, shown) in [
            ("127.0.0.1:7433", false, "http://127.0.0.1:7433/#code=c0de"),
            ("127.0.0.1:7433", true, "https://127.0.0.1:7433/#code=c0de"),
            ("0.0.0.0:7433", false, "http://127.0.0.1:7433/#code=c0de"),
            ("[::]:7433", true, "https://[::1]:7433/#code=c0de"),
            ("[::1]:80", false, "http://[::1]:80/#code=c0de"),
            ("192.0.2.1:7433", true, "https://192.0.2.1:7433/#code=c0de"),
        ] {
            assert_eq!(page_url(listens.parse().unwrap(), secure, "c0de"), shown);
        }
    }
}
