//! The places of connections to the port. A connection without a principal gives up its place when another one needs
//! it, so sockets that send nothing cannot keep clients with a token out.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::port_connection::PortConnection;

/// Places in addition to those of connections with a principal, so that there is always one for a new connection.
const NEWCOMERS: usize = 256;
/// How long a connection keeps its place for its first request, even if others wait.
const GRACE: Duration = Duration::from_secs(1);
/// How long a displaced connection may take to end before the next one is displaced.
const BREATH: Duration = Duration::from_millis(50);

pub(super) struct ConnectionPlaces {
    most: usize,
    table: Mutex<PlaceTable>,
    freed: Notify,
}

#[derive(Default)]
struct PlaceTable {
    taken: usize,
    last: u64,
    /// The connections that had no principal when they were last looked at, the oldest first.
    newcomers: BTreeMap<u64, Newcomer>,
}

struct Newcomer {
    since: Instant,
    connection: PortConnection,
    displaced: CancellationToken,
}

/// The place of one connection. Dropping it frees the place.
pub(super) struct ConnectionPlace {
    places: Arc<ConnectionPlaces>,
    number: u64,
    displaced: CancellationToken,
}

impl ConnectionPlaces {
    /// Creates the places for this many connections with a principal, and for newcomers.
    pub(super) fn new(connections: usize) -> Arc<Self> {
        Arc::new(Self {
            most: connections.saturating_add(NEWCOMERS),
            table: Mutex::default(),
            freed: Notify::new(),
        })
    }

    /// Waits for a place. If all are taken, displaces the oldest connection without a principal, but not in its
    /// first second: a client that has just connected is about to send its request.
    pub(super) async fn take(self: &Arc<Self>, connection: &PortConnection) -> ConnectionPlace {
        loop {
            let oldest = match self.try_take(connection) {
                Ok(place) => return place,
                Err(oldest) => oldest,
            };
            let freed = self.freed.notified();
            match oldest {
                Some(since) if since.elapsed() < GRACE => {
                    let _ = timeout_at(since + GRACE, freed).await;
                }
                _ => {
                    self.displace_oldest();
                    let _ = timeout(BREATH, freed).await;
                }
            }
        }
    }

    /// Takes a place; if there is none, returns since when the oldest newcomer is connected.
    fn try_take(
        self: &Arc<Self>,
        connection: &PortConnection,
    ) -> Result<ConnectionPlace, Option<Instant>> {
        let mut table = self.table();
        if table.taken >= self.most {
            table.forget_known();
            let oldest = table.newcomers.first_key_value();
            return Err(oldest.map(|(_, newcomer)| newcomer.since));
        }
        table.taken += 1;
        table.last += 1;
        let number = table.last;
        let displaced = CancellationToken::new();
        let newcomer = Newcomer {
            since: now(),
            connection: connection.clone(),
            displaced: displaced.clone(),
        };
        table.newcomers.insert(number, newcomer);
        Ok(ConnectionPlace {
            places: self.clone(),
            number,
            displaced,
        })
    }

    /// Ends the oldest connection without a principal, if there is one.
    pub(super) fn displace_oldest(&self) {
        let mut table = self.table();
        table.forget_known();
        if let Some((_, newcomer)) = table.newcomers.pop_first() {
            newcomer.displaced.cancel();
        }
    }

    fn table(&self) -> MutexGuard<'_, PlaceTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PlaceTable {
    /// Removes connections that have a principal from the front of the newcomers.
    fn forget_known(&mut self) {
        while let Some(oldest) = self.newcomers.first_entry()
            && oldest.get().connection.is_known()
        {
            oldest.remove();
        }
    }
}

impl ConnectionPlace {
    /// Resolves when another connection needs this place.
    pub(super) async fn displaced(&self) {
        self.displaced.cancelled().await;
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let mut table = self.places.table();
        table.newcomers.remove(&self.number);
        table.taken -= 1;
        drop(table);
        self.places.freed.notify_one();
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "the runtime's own time, which tests stop; nothing of it is stored or sent"
)]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use harn_lines::pace::ClientQuotas;
    use harn_model::Principal;

    use super::*;

    fn newcomer() -> PortConnection {
        PortConnection::new(Arc::new(ClientQuotas::new(8)))
    }

    #[tokio::test(start_paused = true)]
    async fn oldest_connection_without_a_principal_is_displaced_after_its_first_second() {
        let places = ConnectionPlaces::new(0);
        let known = newcomer();
        assert!(known.assign_principal(&Principal::new("ada")));
        let of_known = places.take(&known).await;
        let silent = newcomer();
        let mut taken = Vec::new();
        for _ in 1..NEWCOMERS {
            taken.push(places.take(&silent).await);
        }
        let begun = now();
        let displaced = {
            let place = taken.remove(0);
            tokio::spawn(async move { place.displaced().await })
        };
        let _next = places.take(&silent).await;
        assert_eq!(begun.elapsed(), GRACE);
        displaced.await.unwrap();
        assert!(!of_known.displaced.is_cancelled());
        assert!(taken.iter().all(|it| !it.displaced.is_cancelled()));
    }

    #[tokio::test(start_paused = true)]
    async fn place_of_an_ended_connection_is_free_at_once() {
        let places = ConnectionPlaces::new(0);
        let silent = newcomer();
        let mut taken = Vec::new();
        for _ in 0..NEWCOMERS {
            taken.push(places.take(&silent).await);
        }
        let begun = now();
        let (waits, place) = (places.clone(), taken.pop());
        let next = tokio::spawn(async move { waits.take(&newcomer()).await });
        tokio::task::yield_now().await;
        drop(place);
        let _next = next.await.unwrap();
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }
}
