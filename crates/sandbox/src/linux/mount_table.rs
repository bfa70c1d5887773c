//! The mounts of this namespace, from `/proc/self/mountinfo`.

use std::{ffi::OsString, fs, os::unix::ffi::OsStringExt as _, path::PathBuf};

use rustix::mount::MountFlags;

use super::{SetupError, failed};

/// A mount, with the options that a change of its flags must repeat.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MountEntry {
    pub path: PathBuf,
    pub flags: MountFlags,
    pub is_read_only: bool,
    /// Whether a look at the mount may wait for another machine or a program.
    pub is_remote: bool,
}

/// The file systems that answer from elsewhere.
const REMOTE: [&str; 8] = [
    "afs",
    "autofs",
    "ceph",
    "cifs",
    "fuse.sshfs",
    "nfs",
    "nfs4",
    "smb3",
];

pub(super) fn read() -> Result<Vec<MountEntry>, SetupError> {
    const PATH: &str = "/proc/self/mountinfo";
    let table = fs::read(PATH).map_err(failed(PATH))?;
    Ok(table
        .split(|byte| *byte == b'\n')
        .filter_map(parse)
        .collect())
}

fn parse(line: &[u8]) -> Option<MountEntry> {
    let mut fields = line.split(|byte| *byte == b' ').skip(4);
    let path = unescape(fields.next()?);
    let options: Vec<&[u8]> = fields.next()?.split(|byte| *byte == b',').collect();
    let has = |option: &str| options.contains(&option.as_bytes());
    let mut rest = fields.skip_while(|field| *field != b"-").skip(1);
    let kind = rest.next()?;
    let mut flags = MountFlags::empty();
    flags.set(MountFlags::NOSUID, has("nosuid"));
    flags.set(MountFlags::NODEV, has("nodev"));
    flags.set(MountFlags::NOEXEC, has("noexec"));
    Some(MountEntry {
        path: OsString::from_vec(path).into(),
        flags,
        is_read_only: has("ro"),
        is_remote: REMOTE.iter().any(|remote| remote.as_bytes() == kind),
    })
}

/// Replaces `\040` by a space, and so on.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..3).filter(|_| *first == b'\\');
        let octal = digits.and_then(|digits| str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                path.push(byte);
                rest = &tail[3..];
            }
            None => {
                path.push(*first);
                rest = tail;
            }
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_has_a_path_and_options() {
        let line =
            br"36 35 98:0 /mnt1 /mnt/a\040b\134c ro,noatime,nosuid master:1 - ext3 /dev/root rw";
        let entry = MountEntry {
            path: r"/mnt/a b\c".into(),
            flags: MountFlags::NOSUID,
            is_read_only: true,
            is_remote: false,
        };
        assert_eq!(parse(line), Some(entry));
        let remote = parse(b"40 35 0:50 / /home rw shared:1 - nfs4 server:/home rw");
        assert!(remote.is_some_and(|it| it.is_remote && !it.is_read_only));
        assert_eq!(parse(b""), None);
    }
}
