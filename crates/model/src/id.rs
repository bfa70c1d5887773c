//! Id newtypes over `Arc<str>`: cheap to clone, impossible to mix up, and opaque to every reader except the one
//! that created the id.

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
            /// Wraps an id that the runtime created or a peer sent.
            pub fn new(id: impl Into<Arc<str>>) -> Self {
                Self(id.into())
            }

            /// The id as text.
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
    /// The id of a session, and the name of its folder in the journal.
    SessionId
);
id!(
    /// The id of a turn: one prompt and the work on it.
    TurnId
);
id!(
    /// The id of a message; all chunks of a message carry the same id, live and replayed.
    MessageId
);
id!(
    /// The id of a tool call, from its announcement to its terminal update.
    ToolCallId
);
id!(
    /// The id of a permission question to the controller of a session.
    AskId
);
id!(
    /// The id of a delegated worker, from its first cycle to its end.
    WorkerId
);
id!(
    /// The name behind a token. A principal sees only its own sessions. Most processes have one principal, the
    /// owner.
    Principal
);
