//! The host names of this server, and the origins of pages that may connect.

use std::{
    net::{IpAddr, SocketAddr},
    str::FromStr,
};

/// A host with an optional port, in small letters; an IPv6 address is in brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Authority {
    host: String,
    port: Option<u16>,
}

/// An allowed host name besides those of the machine itself. Without a port, clients may use any, because a
/// forwarded port differs from ours; pages must be from our own port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AllowedHost(Authority);

/// The allowed origin of a page: scheme, host, and the port if it is not the default one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AllowedOrigin {
    secure: bool,
    authority: Authority,
}

#[derive(Clone, Debug)]
pub(crate) struct AllowedAuthorities {
    pub(crate) listens: SocketAddr,
    pub(crate) secure: bool,
    pub(crate) hosts: Vec<AllowedHost>,
    pub(crate) origins: Vec<AllowedOrigin>,
}

impl AllowedAuthorities {
    /// Returns whether a request's host name is one of this server.
    pub(super) fn allows_host(&self, name: &str) -> bool {
        name.parse().is_ok_and(|name| self.is_ours(&name, None))
    }

    /// Returns whether a page of this origin may connect: one of this server, or one in `origins`.
    pub(super) fn allows_origin(&self, text: &str) -> bool {
        let named = |origin| self.origins.iter().any(|known| known.matches(&origin));
        self.is_own_origin(text) || text.parse().is_ok_and(named)
    }

    /// Returns whether this server serves pages of this origin.
    pub(super) fn is_own_origin(&self, text: &str) -> bool {
        let port = Some(self.listens.port());
        text.parse().is_ok_and(|origin: AllowedOrigin| {
            origin.secure == self.secure && self.is_ours(&origin.authority, port)
        })
    }

    /// Returns whether a name is ours. `unsaid` is the required port for a known host without one; none allows any.
    fn is_ours(&self, name: &Authority, unsaid: Option<u16>) -> bool {
        let port = name.port.unwrap_or(default_port(self.secure));
        let named = self.hosts.iter().any(|AllowedHost(known)| {
            known.host == name.host && known.port.or(unsaid).is_none_or(|known| known == port)
        });
        named || (port == self.listens.port() && self.is_own_host(&name.host))
    }

    fn is_own_host(&self, host: &str) -> bool {
        let address = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .parse::<IpAddr>();
        match address {
            // The address that we listen on. If it is unspecified, other addresses need `--allow-host`.
            Ok(address) => address.is_loopback() || address == self.listens.ip(),
            Err(_) => host == "localhost",
        }
    }
}

impl AllowedOrigin {
    fn matches(&self, other: &Self) -> bool {
        let port = |origin: &Self| origin.authority.port.unwrap_or(default_port(origin.secure));
        self.secure == other.secure
            && self.authority.host == other.authority.host
            && port(self) == port(other)
    }
}

fn default_port(secure: bool) -> u16 {
    match secure {
        true => 443,
        false => 80,
    }
}

impl FromStr for Authority {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || "a host must be a name or an address, with an optional colon and port".to_owned();
        let text = text.to_ascii_lowercase();
        let (host, port) = match text.rfind(']') {
            Some(end) => {
                let (host, rest) = text.split_at(end + 1);
                let inner = host
                    .strip_prefix('[')
                    .and_then(|host| host.strip_suffix(']'));
                let address = inner.and_then(|inner| inner.parse::<std::net::Ipv6Addr>().ok());
                let address = address.ok_or_else(wrong)?;
                let port = rest.strip_prefix(':');
                if port.is_none() && !rest.is_empty() {
                    return Err(wrong());
                }
                (format!("[{address}]"), port)
            }
            None => match text.split_once(':') {
                Some((host, port)) => (host.to_owned(), Some(port)),
                None => (text.clone(), None),
            },
        };
        let digits = |port: &str| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
        let port = match port {
            Some(port) if digits(port) => Some(port.parse().map_err(|_| wrong())?),
            Some(_) => return Err(wrong()),
            None => None,
        };
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
        let name = host.starts_with('[') || (!host.is_empty() && host.bytes().all(plain));
        match name {
            true => Ok(Self { host, port }),
            false => Err(wrong()),
        }
    }
}

impl FromStr for AllowedHost {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Self)
    }
}

impl FromStr for AllowedOrigin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (secure, rest) = if let Some(rest) = text.strip_prefix("https://") {
            (true, rest)
        } else if let Some(rest) = text.strip_prefix("http://") {
            (false, rest)
        } else {
            return Err(
                "an origin must begin with https:// or http://, and have no path".to_owned(),
            );
        };
        let authority = rest.parse().map_err(|_| {
            "an origin must be a scheme, a host and an optional port, such as https://app.example".to_owned()
        })?;
        Ok(Self { secure, authority })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authorities(
        listens: &str,
        secure: bool,
        hosts: &[&str],
        origins: &[&str],
    ) -> AllowedAuthorities {
        let origins = origins.iter().map(|origin| origin.parse().unwrap());
        AllowedAuthorities {
            listens: listens.parse().unwrap(),
            secure,
            hosts: hosts.iter().map(|host| host.parse().unwrap()).collect(),
            origins: origins.collect(),
        }
    }

    #[test]
    fn host_must_be_our_own_or_allowed() {
        let plain = authorities("127.0.0.1:4111", false, &["box.example", "other:99"], &[]);
        for ours in [
            "127.0.0.1:4111",
            "localhost:4111",
            "LocalHost:4111",
            "[::1]:4111",
            "127.0.0.9:4111",
            "[0:0:0:0:0:0:0:1]:4111",
            "box.example",
            "BOX.example:1",
            "other:99",
        ] {
            assert!(plain.allows_host(ours), "{ours}");
        }
        for foreign in [
            "",
            "localhost",
            "localhost:4112",
            "127.0.0.1",
            "evil.example",
            "evil.example:4111",
            "other",
            "localhost.evil.example:4111",
            "localhost:4111.evil.example",
            "127.0.0.1.evil.example:4111",
            "localhost:4111@evil.example",
            "evil.example@localhost:4111",
            "localhost:4111/",
            "localhost:",
            "localhost:+4111",
            "[::1]4111",
            "[::1",
            "::1:4111",
            "0.0.0.0:4111",
            "192.168.0.1:4111",
            " localhost:4111",
            "localhost :4111",
            "box.example.",
            "2130706433:4111",
            "localhost:69647",
        ] {
            assert!(!plain.allows_host(foreign), "{foreign}");
        }
        assert!(authorities("127.0.0.1:80", false, &[], &[]).allows_host("localhost"));
        assert!(authorities("127.0.0.1:443", true, &[], &[]).allows_host("localhost"));
        assert!(!authorities("127.0.0.1:80", true, &[], &[]).allows_host("localhost"));
        let wide = authorities("0.0.0.0:4111", true, &[], &[]);
        assert!(wide.allows_host("127.0.0.1:4111") && !wide.allows_host("10.0.0.7:4111"));
        assert!(authorities("10.0.0.7:4111", true, &[], &[]).allows_host("10.0.0.7:4111"));
    }

    #[test]
    fn origin_must_be_our_own_or_allowed() {
        let origins = ["https://app.example", "http://dev.example:5173"];
        let hosts = ["box.example", "other.example:99"];
        let plain = authorities("127.0.0.1:4111", false, &hosts, &origins);
        for known in [
            "http://box.example:4111",
            "http://other.example:99",
            "http://127.0.0.1:4111",
            "http://localhost:4111",
            "http://[::1]:4111",
            "https://app.example",
            "https://app.example:443",
            "http://dev.example:5173",
            "https://APP.example",
        ] {
            assert!(plain.allows_origin(known), "{known}");
            let named = known.contains("app") || known.contains("APP") || known.contains("dev");
            assert_eq!(plain.is_own_origin(known), !named, "{known}");
        }
        for foreign in [
            "",
            "null",
            "NULL",
            "http://evil.example",
            "http://box.example",
            "http://box.example:5173",
            "https://box.example:4111",
            "http://other.example:4111",
            "http://localhost",
            "http://localhost:4112",
            "https://localhost:4111",
            "http://app.example",
            "https://app.example:8443",
            "https://app.example.evil",
            "https://app.example/",
            "https://evil@app.example",
            "file://",
            "chrome-extension://abcdef",
            "//localhost:4111",
            "http://dev.example",
            "https://app.example https://evil.example",
        ] {
            assert!(!plain.allows_origin(foreign), "{foreign}");
            assert!(!plain.is_own_origin(foreign), "{foreign}");
        }
    }
}
