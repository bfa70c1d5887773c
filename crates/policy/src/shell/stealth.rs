//! Characters that a person does not see as they are, or that shells take differently: control characters,
//! blanks other than space and tab, signs without width, signs that turn the direction of writing.

/// The first such character of a text.
pub(super) fn first(text: &str) -> Option<char> {
    text.chars().find(|&sign| hidden(sign))
}

fn hidden(sign: char) -> bool {
    match sign {
        '\n' | '\t' | ' '..='~' => false,
        _ => {
            sign.is_control()
                || sign.is_whitespace()
                || matches!(
                    u32::from(sign),
                    0xAD | 0x34F
                        | 0x61C
                        | 0x115F..=0x1160
                        | 0x17B4..=0x17B5
                        | 0x180B..=0x180F
                        | 0x200B..=0x200F
                        | 0x202A..=0x202E
                        | 0x2060..=0x206F
                        | 0x2800
                        | 0x3164
                        | 0xFE00..=0xFE0F
                        | 0xFEFF
                        | 0xFFA0
                        | 0xFFF0..=0xFFFB
                        | 0x1D173..=0x1D17A
                        | 0xE0000..=0xE0FFF
                )
        }
    }
}
