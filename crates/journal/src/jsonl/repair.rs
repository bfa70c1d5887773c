//! Checks a log that no session has open, and cuts a damaged one to its intact part. The damaged file stays beside
//! it, and the log is at its path at every moment.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use harn_model::SessionId;

use super::{
    disk::{self, FileSpan},
    lock,
    scan::{scan, scan_intact},
};
use crate::{JournalError, LogCheck, LogRepair};

/// Reads the log at `path` and fails with its first damage.
pub(super) fn check(path: &Path) -> Result<LogCheck, JournalError> {
    let file = File::open(path).map_err(disk::error_at(path))?;
    let found = scan(&file, path, |_| ())?;
    Ok(LogCheck {
        events: found.last.0,
        without_checksum: found.last_unchecked.0,
        torn_bytes: found.rest,
    })
}

/// Cuts the log at `path` to the part before its first damage; returns none if it has no damage.
pub(super) fn repair(path: &Path, id: &SessionId) -> Result<Option<LogRepair>, JournalError> {
    // The lock belongs to the damaged file; a process that opens the log afterwards finds the repaired one.
    let file = lock::open_locked(path, id)?;
    let (intact, damage) = scan_intact(&file, path, |_| ())?;
    let Some(damage) = damage else {
        return Ok(None);
    };
    let lost_lines = count_lines(&file, intact.len).map_err(disk::error_at(path))?;
    let damaged_file = link_beside(path).map_err(disk::error_at(path))?;
    let replaced = disk::replace(path, FileSpan::new(&file, intact.len), true);
    replaced.map_err(|error| {
        // The log is as it was; report the first error, not one of the cleanup.
        let _ = fs::remove_file(&damaged_file);
        disk::error_at(path)(error)
    })?;
    if let Some(folder) = path.parent() {
        disk::sync_folder(folder).map_err(disk::error_at(folder))?;
    }
    Ok(Some(LogRepair {
        damage,
        events: intact.last.0,
        lost_lines,
        lost_bytes: intact.rest,
        damaged_file,
    }))
}

/// Counts the lines from `start`, also one without its end.
fn count_lines(mut file: &File, start: u64) -> io::Result<u64> {
    file.seek(SeekFrom::Start(start))?;
    let mut input = BufReader::new(file);
    let mut lines = 0;
    while input.skip_until(b'\n')? > 0 {
        lines += 1;
    }
    Ok(lines)
}

/// Gives the file a second name beside its own, with the first free number.
fn link_beside(path: &Path) -> io::Result<PathBuf> {
    let mut number = 1;
    loop {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".damaged-{number}"));
        match fs::hard_link(path, &name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            linked => return linked.map(|()| name.into()),
        }
    }
}
