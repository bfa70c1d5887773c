//! The list of sessions to choose from.

use super::address::ServerAddress;
use super::servers::{RunningServer, ServerSession};

#[derive(Debug, Default)]
pub(super) struct Picker {
    pub(super) rows: Vec<PickerRow>,
    pub(super) servers: Vec<ServerAddress>,
    /// The id of the selected session; without it, the first row is selected.
    marked: Option<String>,
    pub(super) notice: Option<String>,
}

#[derive(Debug)]
pub(super) struct PickerRow {
    pub(super) server: ServerAddress,
    pub(super) session: ServerSession,
}

impl Picker {
    /// Replaces the rows: live sessions first, then by the latest change.
    pub(super) fn set(&mut self, servers: Vec<RunningServer>) {
        self.servers = servers.iter().map(|it| it.address.clone()).collect();
        let mut rows: Vec<PickerRow> = Vec::new();
        for server in servers {
            for session in server.sessions {
                let row = PickerRow {
                    server: server.address.clone(),
                    session,
                };
                // Every server of a state directory lists the stored sessions.
                let same = rows.iter_mut().find(|it| it.session.id == row.session.id);
                match same {
                    Some(known) if !known.session.live => *known = row,
                    Some(_) => {}
                    None => rows.push(row),
                }
            }
        }
        rows.sort_by_key(|row| (!row.session.live, u64::MAX - row.session.updated));
        self.rows = rows;
    }

    pub(super) fn can_begin(&self) -> bool {
        !self.servers.is_empty()
    }

    /// Returns the index of the selected row.
    pub(super) fn selected_index(&self) -> usize {
        let marked = self.marked.as_ref();
        let mut rows = self.rows.iter();
        let at = rows.position(|row| Some(&row.session.id) == marked);
        at.unwrap_or(0)
    }

    pub(super) fn selected_row(&self) -> Option<&PickerRow> {
        self.rows.get(self.selected_index())
    }

    pub(super) fn move_selection(&mut self, by: isize) {
        let last = self.rows.len().saturating_sub(1);
        let at = self.selected_index().saturating_add_signed(by).min(last);
        self.marked = self.rows.get(at).map(|row| row.session.id.clone());
    }
}
