//! The journal for those who fell behind, read once for all who stand at the same place.
//!
//! A crowd of readers tends to fall behind together. Each decoding the same lines would keep the machine
//! busy for so long that none of them caught up again. Nothing is kept here for its own sake: a chunk lives
//! as long as a reader has use for it. While a reader works on one, the next is read.

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
    /// The chunks that somebody began to read last, the newest last.
    recent: Mutex<VecDeque<Weak<JournalChunk>>>,
}

/// What a reader keeps until its next look: for others who come to the same place, and for itself.
pub(super) struct RetainedChunks {
    _chunk: Arc<JournalChunk>,
    _ahead: Option<Arc<JournalChunk>>,
}

/// A part of the journal, read by the first who asks.
pub(super) struct JournalChunk {
    after: Seq,
    /// About how much is read of it.
    bytes: usize,
    read: OnceCell<ChunkBatches>,
    /// Somebody has it read beside; once is enough.
    ahead: AtomicBool,
}

/// What was read, in parts: who comes into the middle of one has the rest of it encoded for itself alone, and
/// shares all that follows.
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

    /// The last event in it.
    fn last(&self) -> Seq {
        self.parts.last().map_or(Seq::ZERO, |part| part.last())
    }

    /// The part that has this event, and where one stands behind it.
    fn part(&self, seq: Seq) -> Option<(&Arc<EventBatch>, ReadCursor)> {
        let part = self.parts.iter().find(|part| part.last() >= seq)?;
        let end = match part.last() == self.last() {
            true => self.end,
            false => ReadCursor::after(part.last()),
        };
        Some((part, end))
    }
}

/// How much of the journal is read at a time.
const CHUNK_BYTES: usize = 128 * 1024;
/// The same where chunks are in use at many places already: a crowd that is spread over a long session.
const SMALL_CHUNK_BYTES: usize = 8 * 1024;
/// How much of that is told at a time, in memory.
const PART_WEIGHT: usize = 4 * 1024;
/// At how many.
const MANY: usize = 16;
/// How many chunks are remembered. One that is forgotten while somebody reads it would be read again for the
/// next who comes, and be there twice.
const RECENT: usize = 256;

impl CatchUp {
    pub(super) fn new(log: Arc<dyn LogReader>) -> Self {
        Self {
            log,
            recent: Mutex::default(),
        }
    }

    /// The events after the cursor up to what was published, and the cursor moves past them. Cancel safe.
    pub(super) async fn next(
        &self,
        cursor: &mut ReadCursor,
        published: Seq,
    ) -> Result<(BatchSlice, RetainedChunks), SessionEnd> {
        let next = cursor.after.next();
        let mut chunk = self.chunk_at(cursor.after);
        let mut read = read(&self.log, &chunk, *cursor, published).await?;
        if read.last() < next {
            chunk = self.begin_chunk(cursor.after);
            read = self::read(&self.log, &chunk, *cursor, published).await?;
        }
        let Some((part, end)) = read.part(next) else {
            return Err(lost());
        };
        *cursor = end;
        let delivery = BatchSlice::rest(part.clone(), next);
        let kept = RetainedChunks {
            _ahead: self.read_ahead(read.end, published),
            _chunk: chunk.clone(),
        };
        Ok((delivery, kept))
    }

    /// Has the next chunk read beside, if there is one.
    fn read_ahead(&self, from: ReadCursor, published: Seq) -> Option<Arc<JournalChunk>> {
        if from.after >= published || self.is_spread() {
            return None;
        }
        let chunk = self.chunk_at(from.after);
        if !chunk.read.initialized() && !chunk.ahead.swap(true, Ordering::Relaxed) {
            let (log, chunk) = (self.log.clone(), chunk.clone());
            tokio::spawn(async move {
                // Who comes for it tries again, and hears what is wrong.
                let _ = read(&log, &chunk, from, published).await;
            });
        }
        Some(chunk)
    }

    /// The recent chunk that may hold what comes after `after` and begins the nearest before it, else
    /// another.
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

    /// Whether chunks are in use at many places.
    fn is_spread(&self) -> bool {
        let recent = lock(&self.recent);
        let used = recent.iter().filter(|chunk| chunk.strong_count() > 0);
        used.count() > MANY
    }

    fn begin_chunk(&self, after: Seq) -> Arc<JournalChunk> {
        let mut recent = lock(&self.recent);
        // Somebody else at this place may have been faster.
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

fn lost() -> SessionEnd {
    SessionEnd::Failed("the journal lost events that were published".into())
}

/// What is in a chunk. If the one who reads it gives up, the next one who waits does.
async fn read<'a>(
    log: &Arc<dyn LogReader>,
    chunk: &'a JournalChunk,
    own: ReadCursor,
    published: Seq,
) -> Result<&'a ChunkBatches, SessionEnd> {
    // Who stands at its beginning may know where that is on disk.
    let begin = match own.after == chunk.after {
        true => own,
        false => ReadCursor::after(chunk.after),
    };
    let read = || async {
        let (log, mut cursor, bytes) = (log.clone(), begin, chunk.bytes);
        let read = tokio::task::spawn_blocking(move || {
            let mut events = log.read(&mut cursor, bytes)?;
            // What is written may still be on its way to the disk: nobody hears of it before.
            let heard = events.partition_point(|envelope| envelope.seq <= published);
            if heard < events.len() {
                events.truncate(heard);
                let last = events.last().map_or(begin.after, |envelope| envelope.seq);
                cursor = ReadCursor::after(last);
            }
            Ok::<_, JournalError>((events, cursor))
        });
        let failed = |reason: String| SessionEnd::Failed(reason.into());
        match read.await {
            Ok(Ok((events, end))) if !events.is_empty() => Ok(ChunkBatches::new(events, end)),
            Ok(Ok(_)) => Err(lost()),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Err(_) => Err(failed("reading the journal was interrupted".to_owned())),
        }
    };
    chunk.read.get_or_try_init(read).await
}
