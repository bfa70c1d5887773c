//! The cookie of a signed-in user: `v1.EXPIRY.NAME.MAC`, with the expiry in seconds.
//!
//! The server stores no cookies, so sign-ins survive a restart. Its key is derived from the tokens: after a
//! change to one, every user must sign in again.
//! Hand-written because it is one value with a MAC; crates for cookies bring a jar and encryption.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, header};
use harn_model::Principal;
use harn_runtime::Clock;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use crate::net::token::{self, AccessTokens};

const VERSION: &str = "v1";
/// How long a user stays signed in.
const LIFE_SECONDS: u64 = 30 * 24 * 60 * 60;
/// Separates this key from other keys derived from the tokens.
const PURPOSE: &[u8] = b"harn-serve cookie v1";

/// Issues and verifies cookies.
pub(in crate::net) struct LoginCookies {
    /// A browser sends the cookies of a host to all of its ports, so the port is in the name.
    name: String,
    secure: bool,
    key: Hmac<Sha256>,
    clock: Arc<dyn Clock>,
}

impl LoginCookies {
    /// Issues cookies for a port, with TLS or without.
    pub(in crate::net) fn new(
        tokens: &AccessTokens,
        port: u16,
        secure: bool,
        clock: Arc<dyn Clock>,
    ) -> Self {
        // As long as a block, so that every key fits.
        let mut key = [0; 64];
        key[..32].copy_from_slice(&tokens.derive_key(PURPOSE));
        Self {
            name: format!("harn-{port}"),
            secure,
            key: Hmac::new(&key.into()),
            clock,
        }
    }

    /// Returns a cookie for a principal. None if its name does not fit into a header, which cannot happen with
    /// the names of tokens.
    pub(super) fn issue(&self, principal: &Principal) -> Option<HeaderValue> {
        let expiry = self.now_seconds().saturating_add(LIFE_SECONDS);
        let signed = format!("{VERSION}.{expiry}.{principal}");
        let value = format!("{signed}.{}", self.compute_mac(&signed));
        self.set_cookie_header(&value, LIFE_SECONDS)
    }

    /// Returns a header that deletes the cookie.
    pub(super) fn clear(&self) -> Option<HeaderValue> {
        self.set_cookie_header("", 0)
    }

    /// Returns the values of our cookie in a request; a browser sends one.
    pub(in crate::net) fn find_values<'a>(
        &'a self,
        headers: &'a HeaderMap,
    ) -> impl Iterator<Item = &'a [u8]> {
        let lines = headers.get_all(header::COOKIE).iter();
        // Other cookies may contain bytes that are not text.
        let pairs = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b';'));
        pairs.filter_map(|pair| {
            let pair = pair.trim_ascii();
            let equals = pair.iter().position(|byte| *byte == b'=')?;
            let (name, value) = pair.split_at(equals);
            (name == self.name.as_bytes()).then(|| value.get(1..).unwrap_or_default())
        })
    }

    /// Returns the name in a valid cookie that has not expired.
    pub(in crate::net) fn verified_name<'a>(&self, value: &'a [u8]) -> Option<&'a str> {
        let value = std::str::from_utf8(value).ok()?;
        let (signed, mac) = value.rsplit_once('.')?;
        // Checked first: the rest then parses only text that this server wrote.
        let ours = self.compute_mac(signed).as_bytes().ct_eq(mac.as_bytes());
        if !bool::from(ours) {
            return None;
        }
        let (expiry, name) = signed
            .strip_prefix(VERSION)?
            .strip_prefix('.')?
            .split_once('.')?;
        let expiry: u64 = expiry.parse().ok()?;
        (self.now_seconds() < expiry).then_some(name)
    }

    fn compute_mac(&self, signed: &str) -> String {
        let mac = self.key.clone().chain_update(signed).finalize();
        token::to_hex(&mac.into_bytes())
    }

    fn now_seconds(&self) -> u64 {
        self.clock.now() / 1000
    }

    fn set_cookie_header(&self, value: &str, life: u64) -> Option<HeaderValue> {
        let secure = if self.secure { "; Secure" } else { "" };
        let name = &self.name;
        let text =
            format!("{name}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={life}{secure}");
        let mut value = HeaderValue::try_from(text).ok()?;
        // Keeps the value out of logs and of the HTTP/2 header table.
        value.set_sensitive(true);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicU64, Ordering},
        time::Duration,
    };

    use harn_model::Timestamp;

    use super::*;

    const LONG: &str = "0123456789abcdef0123456789abcdef";
    const NOW: u64 = 1_790_000_000;

    struct StoppedClock(AtomicU64);

    impl Clock for StoppedClock {
        fn now(&self) -> Timestamp {
            self.0.load(Ordering::SeqCst) * 1000 + 999
        }

        fn elapsed(&self) -> Duration {
            Duration::ZERO
        }
    }

    fn make_cookies(token: &str, secure: bool) -> (LoginCookies, Arc<StoppedClock>) {
        let clock = Arc::new(StoppedClock(NOW.into()));
        let tokens = AccessTokens::load(Some(token), "/nowhere".as_ref()).unwrap();
        (
            LoginCookies::new(&tokens, 7433, secure, clock.clone()),
            clock,
        )
    }

    /// Returns the value of a cookie for this name.
    fn cookie_value(cookies: &LoginCookies, name: &str) -> String {
        let set = cookies.issue(&Principal::new(name)).unwrap();
        let (pair, _) = set.to_str().unwrap().split_once("; ").unwrap();
        pair.strip_prefix("harn-7433=").unwrap().to_owned()
    }

    #[test]
    fn set_cookie_header_has_all_attributes() {
        let (plain, _) = make_cookies(LONG, false);
        let set = plain.issue(&Principal::owner()).unwrap();
        assert!(set.is_sensitive());
        let set = set.to_str().unwrap();
        assert!(set.starts_with("harn-7433=v1.1792592000.owner."), "{set}");
        let rest = "; HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000";
        assert!(set.ends_with(rest), "{set}");
        let clear = plain.clear().unwrap();
        let cleared = "harn-7433=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0";
        assert_eq!(clear, cleared);
        let (secure, _) = make_cookies(LONG, true);
        for set in [secure.issue(&Principal::owner()), secure.clear()] {
            let set = set.unwrap();
            assert!(set.to_str().unwrap().ends_with("; Secure"), "{set:?}");
        }
    }

    #[test]
    fn issued_cookie_is_valid_until_it_expires() {
        let (cookies, clock) = make_cookies(LONG, false);
        let owner = cookie_value(&cookies, "owner");
        let eve = cookie_value(&cookies, "eve");
        assert_eq!(cookies.verified_name(owner.as_bytes()), Some("owner"));
        assert_eq!(cookies.verified_name(eve.as_bytes()), Some("eve"));
        clock.0.store(NOW + LIFE_SECONDS - 1, Ordering::SeqCst);
        assert_eq!(cookies.verified_name(owner.as_bytes()), Some("owner"));
        clock.0.store(NOW + LIFE_SECONDS, Ordering::SeqCst);
        assert_eq!(cookies.verified_name(owner.as_bytes()), None);
    }

    #[test]
    fn forged_or_malformed_cookie_is_rejected() {
        let (ours, _) = make_cookies(LONG, false);
        let owner = cookie_value(&ours, "owner");
        let eve = cookie_value(&ours, "eve");
        let (signed, mac) = owner.rsplit_once('.').unwrap();
        let (_, of_eve) = eve.rsplit_once('.').unwrap();
        let (other, _) = make_cookies(&LONG.to_uppercase(), false);
        // Also reject correctly signed text of another form.
        let odd = |signed: &str| format!("{signed}.{}", ours.compute_mac(signed));
        for wrong in [
            String::new(),
            ".".into(),
            "...".into(),
            LONG.into(),
            signed.to_owned(),
            format!("{signed}."),
            format!("{signed}.{}", &mac[1..]),
            format!("{signed}.{mac}0"),
            format!("{signed}.{}", mac.to_uppercase()),
            format!("{signed}.{of_eve}"),
            format!("{owner}.{mac}"),
            format!(" {owner}"),
            format!("\"{owner}\""),
            owner.replace("owner", "eve"),
            owner.replace("v1", "v2"),
            owner.replacen("v1.1", "v1.2", 1),
            cookie_value(&other, "owner"),
            odd("v2.9999999999.owner"),
            odd("v1.soon.owner"),
            odd("v1.-1.owner"),
            odd("v1..owner"),
            odd("v1.9999999999"),
            odd("v19999999999.owner"),
            odd("v1.99999999999999999999.owner"),
        ] {
            assert_eq!(ours.verified_name(wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(ours.verified_name(b"v1.\xff.owner.0"), None);
        assert_eq!(
            ours.verified_name(odd("v1.9999999999.owner").as_bytes()),
            Some("owner")
        );
    }

    #[test]
    fn our_cookie_is_found_among_others() {
        let (cookies, _) = make_cookies(LONG, false);
        let given = |lines: &[&[u8]]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                let line = HeaderValue::from_bytes(line).unwrap();
                headers.append(header::COOKIE, line);
            }
            let found = cookies.find_values(&headers);
            found
                .map(|value| String::from_utf8_lossy(value).into_owned())
                .collect::<Vec<_>>()
        };
        let none: [&str; 0] = [];
        assert_eq!(given(&[]), none);
        let others: &[&[u8]] = &[
            b"a=b; harn=1;harn-743=2; harn-74330=3; xharn-7433=4",
            b"harn-7433",
        ];
        assert_eq!(given(others), none);
        assert_eq!(given(&[b"HARN-7433=1; \xffa=2; b=harn-7433=3"]), none);
        assert_eq!(given(&[b"a=\xff;harn-7433=x=y ; b"]), ["x=y"]);
        assert_eq!(given(&[b"a=1", b"harn-7433=x; b=2"]), ["x"]);
        assert_eq!(
            given(&[b"harn-7433=x; harn-7433=y", b"harn-7433="]),
            ["x", "y", ""]
        );
    }
}
