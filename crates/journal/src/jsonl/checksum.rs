//! The checksum of a line: the CRC-32 of everything before it, as the last member of the JSON object. Every change
//! of one bit, and every change within 32 neighbouring bits, gives another checksum.

/// The member as it is written, with eight digits to fill in.
const FORM: [u8; 18] = *br#","crc":"00000000"}"#;
/// Where the digits begin in [`FORM`].
const DIGITS: usize = 8;

/// Closes the JSON object that begins at `start`, with the checksum as its last member.
pub(super) fn seal(buf: &mut Vec<u8>, start: usize) {
    let member = member(&buf[start..]);
    buf.extend_from_slice(&member);
}

/// Returns the part of a line that its checksum covers, which is a JSON object without its end.
pub(super) fn verify(line: &[u8]) -> Result<&[u8], &'static str> {
    let Some((covered, found)) = line
        .split_last_chunk()
        .filter(|(_, found)| found.starts_with(&FORM[..DIGITS]))
    else {
        return Err("the line does not end with its checksum");
    };
    // Compared as text: it has one spelling, so a flipped bit in the member is found too.
    if *found != member(covered) {
        return Err("the checksum does not match: the line was changed after it was written");
    }
    Ok(covered)
}

fn member(covered: &[u8]) -> [u8; FORM.len()] {
    let mut member = FORM;
    let sum = crc32fast::hash(covered);
    for (digit, shift) in member[DIGITS..].iter_mut().zip((0..32).step_by(4).rev()) {
        *digit = b"0123456789abcdef"[(sum >> shift & 0xf) as usize];
    }
    member
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(text: &str) -> String {
        let mut buf = format!("before{text}").into_bytes();
        seal(&mut buf, "before".len());
        String::from_utf8(buf.split_off("before".len())).unwrap()
    }

    /// The values are those of `zlib.crc32` in Python.
    #[test]
    fn checksum_is_the_crc_of_zlib() {
        assert_eq!(sealed("123456789"), r#"123456789,"crc":"cbf43926"}"#);
        assert_eq!(sealed(""), r#","crc":"00000000"}"#);
        assert_eq!(sealed(r#"{"v":2"#), r#"{"v":2,"crc":"f3c5c2f2"}"#);
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let line = sealed(r#"{"v":2,"text":"He said no.""#).into_bytes();
        assert_eq!(verify(&line).unwrap(), &line[..line.len() - FORM.len()]);
        for bit in 0..line.len() * 8 {
            let mut changed = line.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(verify(&changed).is_err(), "bit {bit}");
        }
        for len in 0..line.len() {
            assert!(verify(&line[..len]).is_err(), "cut to {len}");
        }
    }
}
