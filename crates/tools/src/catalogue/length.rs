//! How long a value is when it is written out.

use std::io;

use serde::Serialize;

/// How many bytes it takes to write a value out.
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
    // Counting does not fail, and neither do keys that are text.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}
