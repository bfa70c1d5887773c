//! The principal of a connection to the port. A connection without one is closed after a moment. With one, it
//! counts towards its principal's quota: at most three quarters of all connections, so that others can connect.

use std::sync::{Arc, OnceLock};

use harn_lines::pace::{ClientQuotas, ClientSlot};
use harn_model::Principal;

/// One connection; each of its requests has it as an extension.
#[derive(Clone)]
pub(super) struct PortConnection {
    shares: Arc<ClientQuotas<Principal>>,
    seat: Arc<OnceLock<ClientSlot>>,
}

impl PortConnection {
    pub(super) fn new(shares: Arc<ClientQuotas<Principal>>) -> Self {
        Self {
            shares,
            seat: Arc::default(),
        }
    }

    /// Assigns a principal to the connection; returns whether its quota allows that.
    pub(super) fn assign_principal(&self, principal: &Principal) -> bool {
        if self.is_known() {
            return true;
        }
        let seat = self.shares.join(principal);
        // Two requests at once need only one slot.
        seat.is_some_and(|seat| self.seat.set(seat).is_ok() || self.is_known())
    }

    pub(super) fn is_known(&self) -> bool {
        self.seat.get().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn principal_is_limited_to_its_quota() {
        let (ada, bob) = (Principal::new("ada"), Principal::new("bob"));
        let shares = Arc::new(ClientQuotas::new(8));
        let call = |principal: &Principal| {
            let caller = PortConnection::new(shares.clone());
            caller.assign_principal(principal).then_some(caller)
        };
        let mut of_ada: Vec<_> = std::iter::from_fn(|| call(&ada)).collect();
        assert_eq!(of_ada.len(), 6);
        assert!(
            of_ada[0].assign_principal(&ada) && of_ada[0].is_known(),
            "one seat each"
        );
        assert!(call(&bob).is_some());
        of_ada.pop();
        assert!(call(&ada).is_some());
    }
}
