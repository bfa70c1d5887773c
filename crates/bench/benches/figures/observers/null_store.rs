//! A journal that stores nothing, so that the disk is not measured.
//!
//! An observer that falls behind finds nothing in it and fails; so a run without a failure proves that all kept
//! up.

use std::{io, path::PathBuf, sync::Arc};

use harn_journal::{
    JournalError, LogReader, LogSyncer, MetaChange, OpenedLog, ReadCursor, SessionLog, SessionMeta,
    Store, StoreListing,
};
use harn_model::{Envelope, SessionId};

pub(crate) struct Forgetful;

impl Store for Forgetful {
    fn create(&self, _: SessionMeta) -> Result<Box<dyn SessionLog>, JournalError> {
        Ok(Box::new(Self))
    }

    fn open(&self, id: &SessionId) -> Result<OpenedLog, JournalError> {
        Err(JournalError::NotFound(id.clone()))
    }

    fn read(&self, id: &SessionId) -> Result<(SessionMeta, Vec<Envelope>), JournalError> {
        Err(JournalError::NotFound(id.clone()))
    }

    fn list(&self) -> Result<StoreListing, JournalError> {
        Ok(StoreListing::default())
    }

    fn delete(&self, _: &SessionId) -> Result<(), JournalError> {
        Ok(())
    }
}

impl SessionLog for Forgetful {
    fn append(&mut self, _: &[Envelope]) -> Result<(), JournalError> {
        Ok(())
    }

    fn syncer(&self) -> LogSyncer {
        Box::new(|| Ok(()))
    }

    fn reader(&self) -> Arc<dyn LogReader> {
        Arc::new(Self)
    }

    fn amend(&mut self, _: MetaChange) -> Result<(), JournalError> {
        Ok(())
    }
}

impl LogReader for Forgetful {
    fn read(&self, _: &mut ReadCursor, _: usize) -> Result<Vec<Envelope>, JournalError> {
        Err(JournalError::Io {
            path: PathBuf::from("nothing"),
            source: io::Error::other("an observer fell behind"),
        })
    }
}
