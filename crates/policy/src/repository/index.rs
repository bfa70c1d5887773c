//! The index of a repository. `git status` runs git in each submodule, which obeys the configuration there; only
//! the index names the submodules. The parser follows git's own byte by byte, and doubts what git reads in a second
//! way.

/// The bytes of an entry before its name, without the second flags.
const ENTRY_HEAD: usize = 62;
/// The position of the mode and of the flags in an entry.
const MODE_AT: usize = 24;
const FLAGS_AT: usize = 60;
/// A flag for two more bytes of flags, and the bits of the length of the name.
const EXTENDED: usize = 0x4000;
const NAME_LENGTH: usize = 0x0fff;
/// The kinds of entries in a mode: a submodule, and a folder that is not listed.
const KIND: u32 = 0xf000;
const SUBMODULE: u32 = 0xe000;
const FOLDER: u32 = 0x4000;
/// The length of the checksum at the end.
const CHECKSUM: usize = 20;

const UNPARSABLE: &str = "has a form that is not parsed here";

/// Returns what is wrong with an index, as the end of a sentence; none if it lists only files.
pub(super) fn find_risk(bytes: &[u8]) -> Option<&'static str> {
    check(bytes).err()
}

fn check(bytes: &[u8]) -> Result<(), &'static str> {
    let version = number_at(bytes, 4)?;
    if !bytes.starts_with(b"DIRC") || !(2..=4).contains(&version) {
        return Err(UNPARSABLE);
    }
    let mut at = 12;
    let mut last_length = 0;
    for _ in 0..number_at(bytes, 8)? {
        let entry = bytes.get(at..).ok_or(UNPARSABLE)?;
        match number_at(entry, MODE_AT)? & KIND {
            SUBMODULE => return Err("has a submodule, whose configuration git obeys"),
            FOLDER => return Err("has a folder without its files"),
            _ => {}
        }
        (at, last_length) = match version {
            4 => measure_short_entry(entry, last_length)?,
            _ => measure_entry(entry)?,
        }
        .after(at);
    }
    check_extensions(bytes, at)
}

/// The length of an entry and of its name.
struct EntryLength {
    whole: usize,
    name: usize,
}

impl EntryLength {
    /// Returns the position after an entry at this position, and the length of its name.
    fn after(&self, at: usize) -> (usize, usize) {
        (at + self.whole, self.name)
    }
}

fn measure_entry(entry: &[u8]) -> Result<EntryLength, &'static str> {
    let (name_at, length) = name_of(entry)?;
    let name = match length {
        NAME_LENGTH => text_length(entry, name_at)?,
        known => known,
    };
    // At least one NUL ends it, up to a multiple of eight.
    let whole = (name_at + name + 8) & !7;
    Ok(EntryLength { whole, name })
}

/// Measures an entry of version 4: the name continues the last one after `strip` bytes of its end.
fn measure_short_entry(entry: &[u8], last_length: usize) -> Result<EntryLength, &'static str> {
    let (strip_at, length) = name_of(entry)?;
    let (strip, text_at) = variable_number_at(entry, strip_at)?;
    let copied = last_length.checked_sub(strip).ok_or(UNPARSABLE)?;
    let name = match length {
        NAME_LENGTH => copied + text_length(entry, text_at)?,
        known => known,
    };
    let text = name.checked_sub(copied).ok_or(UNPARSABLE)?;
    Ok(EntryLength {
        whole: text_at + text + 1,
        name,
    })
}

/// Returns the position of the name in an entry, and its length as the flags have it.
fn name_of(entry: &[u8]) -> Result<(usize, usize), &'static str> {
    let flags = entry.get(FLAGS_AT..ENTRY_HEAD).ok_or(UNPARSABLE)?;
    let flags = flags
        .iter()
        .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    let name_at = if flags & EXTENDED == 0 {
        ENTRY_HEAD
    } else {
        ENTRY_HEAD + 2
    };
    Ok((name_at, flags & NAME_LENGTH))
}

/// Checks what follows the entries. Other extensions name a second index, or positions at which git reads entries
/// instead.
fn check_extensions(bytes: &[u8], mut at: usize) -> Result<(), &'static str> {
    let end = bytes.len().checked_sub(CHECKSUM).ok_or(UNPARSABLE)?;
    let area = bytes.get(at..end).ok_or(UNPARSABLE)?;
    let names_positions = |four: &[u8]| matches!(four, b"EOIE" | b"IEOT");
    if area.windows(4).any(names_positions) {
        return Err(UNPARSABLE);
    }
    while at < end {
        let name = bytes.get(at..at + 4).unwrap_or_default();
        if !matches!(name, b"TREE" | b"REUC" | b"UNTR") {
            return Err(UNPARSABLE);
        }
        let length = number_at(bytes, at + 4)?;
        let length = usize::try_from(length).map_err(|_| UNPARSABLE)?;
        at = at.saturating_add(8).saturating_add(length);
    }
    if at == end { Ok(()) } else { Err(UNPARSABLE) }
}

fn number_at(bytes: &[u8], at: usize) -> Result<u32, &'static str> {
    let four = bytes.get(at..at.saturating_add(4));
    let four = four.and_then(|four| <[u8; 4]>::try_from(four).ok());
    four.map(u32::from_be_bytes).ok_or(UNPARSABLE)
}

/// Reads a number of seven bits in each byte, and returns the position after it.
fn variable_number_at(bytes: &[u8], mut at: usize) -> Result<(usize, usize), &'static str> {
    let mut value = 0_usize;
    loop {
        let byte = *bytes.get(at).ok_or(UNPARSABLE)?;
        at += 1;
        value = value << 7 | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Ok((value, at));
        }
        // Longer names do not exist.
        value = value
            .checked_add(1)
            .filter(|value| *value < 1 << 16)
            .ok_or(UNPARSABLE)?;
    }
}

/// Returns the length of the text up to its NUL.
fn text_length(bytes: &[u8], at: usize) -> Result<usize, &'static str> {
    let text = bytes.get(at..).ok_or(UNPARSABLE)?;
    text.iter().position(|byte| *byte == 0).ok_or(UNPARSABLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: u32 = 0o100_644;

    /// Returns an entry as git writes it: 62 bytes, the name and its NULs.
    fn entry(mode: u32, name: &str) -> Vec<u8> {
        let mut bytes = head(mode, u16::try_from(name.len().min(NAME_LENGTH)).unwrap());
        bytes.extend(name.bytes());
        bytes.resize((bytes.len() + 8) & !7, 0);
        bytes
    }

    fn head(mode: u32, flags: u16) -> Vec<u8> {
        let mut bytes = vec![7; ENTRY_HEAD];
        bytes[MODE_AT..MODE_AT + 4].copy_from_slice(&mode.to_be_bytes());
        bytes[FLAGS_AT..].copy_from_slice(&flags.to_be_bytes());
        bytes
    }

    fn extended_entry(mode: u32, name: &str) -> Vec<u8> {
        let mut bytes = head(mode, u16::try_from(EXTENDED | name.len()).unwrap());
        bytes.extend([0x20, 0]);
        bytes.extend(name.bytes());
        bytes.resize((bytes.len() + 8) & !7, 0);
        bytes
    }

    /// Returns an entry of version 4, whose name keeps all but `strip` bytes of the last one.
    fn short_entry(mode: u32, length: usize, strip: &[u8], text: &str) -> Vec<u8> {
        let mut bytes = head(mode, u16::try_from(length).unwrap());
        bytes.extend(strip);
        bytes.extend(text.bytes());
        bytes.push(0);
        bytes
    }

    fn index(version: u32, entries: &[Vec<u8>], extensions: &[u8]) -> Vec<u8> {
        let count = u32::try_from(entries.len()).unwrap();
        let head = [*b"DIRC", version.to_be_bytes(), count.to_be_bytes()].concat();
        [&head, &entries.concat(), extensions, &[0; CHECKSUM]].concat()
    }

    #[test]
    fn index_of_files_has_no_risk() {
        let long = "n".repeat(5000);
        let names = ["a", "ab", "abcdefg", "abcdefgh", "abcdefghi", &long];
        let entries: Vec<_> = names.iter().map(|name| entry(FILE, name)).collect();
        assert_eq!(find_risk(&index(2, &[], b"")), None);
        assert_eq!(find_risk(&index(2, &entries, b"")), None);
        assert_eq!(
            find_risk(&index(
                3,
                &[extended_entry(FILE, "abc"), entry(0o120_000, "b")],
                b""
            )),
            None
        );
        let known = [
            b"TREE\0\0\0\x03xyz".as_slice(),
            b"REUC\0\0\0\0",
            b"UNTR\0\0\0\x01x",
        ]
        .concat();
        assert_eq!(find_risk(&index(2, &entries, &known)), None);
        let short = [
            short_entry(FILE, 3, &[0], "abc"),
            short_entry(FILE, 4, &[1], "cd"),
            short_entry(FILE, NAME_LENGTH, &[0], &"x".repeat(4095)),
            // 256 bytes less: the first byte counts 128 for each and one more.
            short_entry(FILE, 4099 - 256 + 1, &[0x81, 0x00], "y"),
        ];
        assert_eq!(find_risk(&index(4, &short, b"")), None);
    }

    #[test]
    fn submodule_at_any_place_is_a_risk() {
        let submodule = Some("has a submodule, whose configuration git obeys");
        let long = "n".repeat(NAME_LENGTH);
        for mode in [0o160_000, 0o160_644, 0xffff_e000] {
            for before in ["a", "abcdefg", "abcdefgh", "abcdefghi", &long] {
                let entries = [entry(FILE, before), entry(mode, "z")];
                assert_eq!(find_risk(&index(2, &entries, b"")), submodule, "{before}");
                let entries = [
                    entry(FILE, "a"),
                    extended_entry(FILE, "abcdef"),
                    entry(mode, "z"),
                ];
                assert_eq!(find_risk(&index(3, &entries, b"")), submodule);
            }
            let short = [
                short_entry(FILE, 3, &[0], "abc"),
                short_entry(FILE, 3, &[2], "bc"),
                short_entry(FILE, NAME_LENGTH, &[3], &long),
                short_entry(mode, 1, &[0xff, 0x7e], "z"),
            ];
            assert_eq!(find_risk(&index(4, &short, b"")), submodule);
        }
        let folder = find_risk(&index(2, &[entry(0o040_000, "f/")], b""));
        assert_eq!(folder, Some("has a folder without its files"));
    }

    #[test]
    fn other_form_is_a_risk() {
        let one = [entry(FILE, "a")];
        let good = index(2, &one, b"");
        for (bytes, why) in [
            (Vec::new(), "nothing"),
            (good[..good.len() - 1].to_vec(), "a byte too few"),
            ([&good[..], b"x"].concat(), "a byte too many"),
            (index(1, &one, b""), "an old version"),
            (index(5, &one, b""), "a new version"),
            ([b"XIRC", &good[4..]].concat(), "another kind of file"),
            (index(2, &one, b"link\0\0\0\0"), "a second index"),
            (index(2, &one, b"sdir\0\0\0\0"), "folders without files"),
            (index(2, &one, b"EOIE\0\0\0\0"), "another end"),
            (
                index(2, &one, b"TREE\0\0\0\x08IEOT\0\0\0\0"),
                "positions inside of another part",
            ),
            (index(2, &one, b"TREE\0\0\0\x09"), "a part that is too long"),
            (
                index(2, &one, b"TREE\xff\xff\xff\xff"),
                "a part that is much too long",
            ),
            (index(2, &one, b"TRE"), "half a part"),
            (
                index(4, &[short_entry(FILE, 3, &[1], "abc")], b""),
                "a name that is cut too short",
            ),
            (
                index(
                    4,
                    &[short_entry(FILE, 3, &[0xff, 0xff, 0xff, 0xff], "abc")],
                    b"",
                ),
                "a length without an end",
            ),
        ] {
            assert_eq!(find_risk(&bytes), Some(UNPARSABLE), "{why}");
        }
        let mut many = good;
        many[8..12].copy_from_slice(&u32::MAX.to_be_bytes());
        assert_eq!(find_risk(&many), Some(UNPARSABLE));
    }
}
