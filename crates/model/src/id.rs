//! Id newtypes over `Arc<str>`: cheap to clone, impossible to mix up, opaque to everyone but
//! whoever minted them.

use std::{borrow::Borrow, fmt, sync::Arc};

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(transparent)]
        #[schemars(inline)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Wraps an id that was minted by the runtime or read from a peer.
            pub fn new(id: impl Into<Arc<str>>) -> Self {
                Self(id.into())
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(id: &str) -> Self {
                Self(id.into())
            }
        }

        impl From<String> for $name {
            fn from(id: String) -> Self {
                Self(id.into())
            }
        }
    };
}

id!(
    /// One conversation, and the name of its folder in the journal.
    SessionId
);
id!(
    /// One prompt and everything the agent did about it.
    TurnId
);
id!(
    /// One message; all chunks of a message carry the same id, live and replayed.
    MessageId
);
id!(
    /// One tool call, from its announcement to its terminal update.
    ToolCallId
);
id!(
    /// One question put to whoever controls the session.
    AskId
);
id!(
    /// One delegated worker, from its first cycle to its end.
    WorkerId
);
id!(
    /// Who is on the other end of a connection. A principal sees its own sessions and no others; one process mostly
    /// has one, its owner.
    Principal
);
