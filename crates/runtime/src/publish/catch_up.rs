//! Reads the journal for readers that fell behind, once for all readers at the same position.
//!
//! Many readers tend to fall behind together. If each decoded the same lines, the machine would be busy for
//! so long that none caught up. A chunk is freed when no reader needs it. While a reader works on a chunk,
//! the next one is read.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use harn_journal::{JournalError, LogReader, ReadCursor};
use harn_model::{Envelope, Seq};
use tokio::sync::OnceCell;

use super::{BatchSlice, EventBatch, SessionEnd};
use crate::session::lock;

pub(super) struct CatchUp {
    log: Arc<dyn LogReader>,
    /// The chunks that readers requested last, the newest last.
    recent: Mutex<VecDeque<Weak<JournalChunk>>>,
}

/// The chunks that a reader retains until its next poll, for itself and for others at the same position.
pub(super) struct RetainedChunks {
    _chunk: Arc<JournalChunk>,
    _ahead: Option<Arc<JournalChunk>>,
}

/// A part of the journal; the first reader that needs it reads it.
pub(super) struct JournalChunk {
    after: Seq,
    /// The approximate number of bytes to read.
    bytes: usize,
    read: OnceCell<ChunkBatches>,
    /// Whether a background task reads it; one is enough.
    ahead: AtomicBool,
}

/// The events of a chunk, in parts. A reader that starts inside a part encodes the rest of it alone, and
/// shares all later parts.
struct ChunkBatches {
    parts: Vec<Arc<EventBatch>>,
    end: ReadCursor,
}

impl ChunkBatches {
    fn new(events: Vec<Envelope>, end: ReadCursor) -> Self {
        let (mut parts, mut part, mut weight) = (Vec::new(), Vec::new(), 0);
        for envelope in events {
            weight += envelope.event.weight();
            part.push(envelope);
            if weight >= PART_WEIGHT {
                parts.push(Arc::new(EventBatch::new(std::mem::take(&mut part))));
                weight = 0;
            }
        }
        if !part.is_empty() {
            parts.push(Arc::new(EventBatch::new(part)));
        }
        Self { parts, end }
    }

    /// Returns its last event.
    fn last(&self) -> Seq {
        self.parts.last().map_or(Seq::ZERO, |part| part.last())
    }

    /// Returns the part with this event, and the cursor behind that part.
    fn part(&self, seq: Seq) -> Option<(&Arc<EventBatch>, ReadCursor)> {
        let part = self.parts.iter().find(|part| part.last() >= seq)?;
        let end = match part.last() == self.last() {
            true => self.end,
            false => ReadCursor::starting_after(part.last()),
        };
        Some((part, end))
    }
}

/// How many bytes of the journal are read at a time.
const CHUNK_BYTES: usize = 128 * 1024;
/// The chunk size when readers are spread over many positions of a long session.
const SMALL_CHUNK_BYTES: usize = 8 * 1024;
/// The weight in memory of one part.
const PART_WEIGHT: usize = 4 * 1024;
/// The number of chunks in use above which chunks are small.
const MANY: usize = 16;
/// The maximum number of tracked chunks. A chunk that is dropped from the list while in use would be read
/// again for the next reader, and be in memory twice.
const RECENT: usize = 256;

impl CatchUp {
    pub(super) fn new(log: Arc<dyn LogReader>) -> Self {
        Self {
            log,
            recent: Mutex::default(),
        }
    }

    /// Returns the published events after the cursor and moves the cursor past them. Cancel safe.
    pub(super) async fn next(
        &self,
        cursor: &mut ReadCursor,
        published: Seq,
    ) -> Result<(BatchSlice, RetainedChunks), SessionEnd> {
        let next = cursor.after.next();
        let mut chunk = self.chunk_at(cursor.after);
        let mut read = read_chunk(&self.log, &chunk, *cursor, published).await?;
        if read.last() < next {
            chunk = self.begin_chunk(cursor.after);
            read = self::read_chunk(&self.log, &chunk, *cursor, published).await?;
        }
        let Some((part, end)) = read.part(next) else {
            return Err(lost_events_error());
        };
        *cursor = end;
        let delivery = BatchSlice::from_seq(part.clone(), next);
        let kept = RetainedChunks {
            _ahead: self.read_ahead(read.end, published),
            _chunk: chunk.clone(),
        };
        Ok((delivery, kept))
    }

    /// Reads the next chunk in the background, if there is one.
    fn read_ahead(&self, from: ReadCursor, published: Seq) -> Option<Arc<JournalChunk>> {
        if from.after >= published || self.is_spread() {
            return None;
        }
        let chunk = self.chunk_at(from.after);
        if !chunk.read.initialized() && !chunk.ahead.swap(true, Ordering::Relaxed) {
            let (log, chunk) = (self.log.clone(), chunk.clone());
            tokio::spawn(async move {
                // The reader that needs the chunk tries again and receives the error.
                let _ = read_chunk(&log, &chunk, from, published).await;
            });
        }
        Some(chunk)
    }

    /// Returns the recent chunk that may contain the event after `after` and starts nearest before it, or a new chunk.
    fn chunk_at(&self, after: Seq) -> Arc<JournalChunk> {
        let may_hold = |chunk: &Arc<JournalChunk>| {
            let read = chunk.read.get();
            chunk.after <= after && read.is_none_or(|read| read.last() > after)
        };
        let found = {
            let recent = lock(&self.recent);
            let chunks = recent.iter().filter_map(Weak::upgrade).filter(may_hold);
            chunks.max_by_key(|chunk| chunk.after)
        };
        found.unwrap_or_else(|| self.begin_chunk(after))
    }

    /// Whether chunks are in use at many positions.
    fn is_spread(&self) -> bool {
        let recent = lock(&self.recent);
        let used = recent.iter().filter(|chunk| chunk.strong_count() > 0);
        used.count() > MANY
    }

    fn begin_chunk(&self, after: Seq) -> Arc<JournalChunk> {
        let mut recent = lock(&self.recent);
        // Another reader at this position may have been faster.
        let mut chunks = recent.iter().filter_map(Weak::upgrade);
        if let Some(chunk) = chunks.find(|chunk| chunk.after == after) {
            return chunk;
        }
        drop(chunks);
        recent.retain(|chunk| chunk.strong_count() > 0);
        let bytes = match recent.len() > MANY {
            true => SMALL_CHUNK_BYTES,
            false => CHUNK_BYTES,
        };
        let chunk = Arc::new(JournalChunk {
            after,
            bytes,
            read: OnceCell::new(),
            ahead: AtomicBool::new(false),
        });
        if recent.len() >= RECENT {
            recent.pop_front();
        }
        recent.push_back(Arc::downgrade(&chunk));
        chunk
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        lock(&self.recent)
            .iter()
            .all(|chunk| chunk.strong_count() == 0)
    }
}

fn lost_events_error() -> SessionEnd {
    SessionEnd::Failed("the journal lost events that were published".into())
}

/// Returns the content of a chunk. If the reader that reads it gives up, the next waiting reader reads it.
async fn read_chunk<'a>(
    log: &Arc<dyn LogReader>,
    chunk: &'a JournalChunk,
    own: ReadCursor,
    published: Seq,
) -> Result<&'a ChunkBatches, SessionEnd> {
    // A reader at the start of the chunk may know its position on disk.
    let begin = match own.after == chunk.after {
        true => own,
        false => ReadCursor::starting_after(chunk.after),
    };
    let read = || async {
        let (log, mut cursor, bytes) = (log.clone(), begin, chunk.bytes);
        let read = tokio::task::spawn_blocking(move || {
            let mut events = log.read(&mut cursor, bytes)?;
            // Written events may not be on disk yet: readers must not receive them before they are published.
            let heard = events.partition_point(|envelope| envelope.seq <= published);
            if heard < events.len() {
                events.truncate(heard);
                let last = events.last().map_or(begin.after, |envelope| envelope.seq);
                cursor = ReadCursor::starting_after(last);
            }
            Ok::<_, JournalError>((events, cursor))
        });
        let failed = |reason: String| SessionEnd::Failed(reason.into());
        match read.await {
            Ok(Ok((events, end))) if !events.is_empty() => Ok(ChunkBatches::new(events, end)),
            Ok(Ok(_)) => Err(lost_events_error()),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Err(_) => Err(failed("reading the journal was interrupted".to_owned())),
        }
    };
    chunk.read.get_or_try_init(read).await
}
