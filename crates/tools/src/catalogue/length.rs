//! The length of a value in JSON.

use std::io;

use serde::Serialize;

/// Returns the number of bytes of a value in JSON.
pub(crate) fn json_length(value: &impl Serialize) -> u64 {
    struct ByteCounter(u64);
    impl io::Write for ByteCounter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = ByteCounter(0);
    // The counter cannot fail, and neither can keys that are strings.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}
