//! The macros that read the table of events and generate its types.

/// Expands to the second token, where a repetition has to name the first.
macro_rules! second {
    ($first:tt $second:ident) => {
        $second
    };
}

/// Generates [`AgentEvent`](super::AgentEvent), the families that borrow it, and the facts about each event.
macro_rules! agent_events {
    ($(
        $(#[doc = $family_doc:literal])*
        $family:ident($members:ident) {$(
            $(#[doc = $doc:literal])*
            $variant:ident $([$boxed:ident])? $(($inline:ident))? $({$(
                $(#[doc = $field_doc:literal])*
                $(#[serde($($serde:tt)*)])?
                $field:ident: $field_type:ty,
            )+})?
            => $name:literal, $author:expr, $durability:ident, $order:ident, $stamp:ident, $message:ident;
        )+}
    )+) => {
        /// Any event of a session.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "type")]
        pub enum AgentEvent {$($(
            $(#[doc = $doc])*
            #[serde(rename = $name)]
            $variant $((Box<$boxed>))? $(($inline))? $({$(
                $(#[doc = $field_doc])*
                $(#[serde($($serde)*)])?
                $field: $field_type,
            )+})?,
        )+)+}

        /// An event as a member of its family. A reader matches families exhaustively, and the members of those
        /// that concern it.
        #[derive(Clone, Copy, Debug)]
        pub enum EventFamily<'a> {$(
            $(#[doc = $family_doc])*
            $family($members<'a>),
        )+}

        $(
            $(#[doc = $family_doc])*
            #[derive(Clone, Copy, Debug)]
            pub enum $members<'a> {$(
                $(#[doc = $doc])*
                $variant $((&'a $boxed))? $((&'a $inline))? $({$(
                    $(#[doc = $field_doc])*
                    $field: &'a $field_type,
                )+})?,
            )+}
        )+

        impl AgentEvent {
            /// The names of all kinds of events.
            pub const NAMES: &'static [&'static str] = &[$($($name),+),+];

            /// Returns the name of this kind of event, in the journal and on every wire that shows it by name.
            pub fn name(&self) -> &'static str {
                match self {
                    $($(Self::$variant { .. } => $name,)+)+
                }
            }

            /// Returns the event as a member of its family.
            #[inline]
            pub fn family(&self) -> EventFamily<'_> {
                match self {$($(
                    Self::$variant
                        $((second!($boxed payload)))? $((second!($inline payload)))? $({ $($field),+ })?
                    => EventFamily::$family($members::$variant
                        $((second!($boxed payload)))? $((second!($inline payload)))? $({ $($field),+ })?
                    ),
                )+)+}
            }

            /// Returns the party that may write it.
            pub fn author(&self) -> Author {
                use Author::{Agent, Runtime};
                match self {
                    $($(Self::$variant { .. } => $author,)+)+
                }
            }

            /// Returns how durable the event must be before it is published.
            pub fn durability(&self) -> Durability {
                match self {
                    $($(Self::$variant { .. } => Durability::$durability,)+)+
                }
            }

            /// Whether the current message ends here, so that one message is one step. Other events leave it open.
            pub fn ends_message(&self) -> bool {
                match self {
                    $($(Self::$variant { .. } => $message,)+)+
                }
            }
        }

        selected_events! {
            /// An event whose order among others is checked before it is written.
            OrderedEvent ordered_mut [] []
            $($({ $order $variant $([$boxed])? $(($inline))? $({ $($field: $field_type,)+ })? })+)+
        }

        selected_events! {
            /// An event that the runtime completes before it is written.
            StampedEvent stamped_mut [] []
            $($({ $stamp $variant $([$boxed])? $(($inline))? $({ $($field: $field_type,)+ })? })+)+
        }
    };
}

/// Generates an enum of the rows whose column is neither `alone` nor `as_is`, which borrows their payloads
/// mutably.
macro_rules! selected_events {
    (#[doc = $doc:literal] $name:ident $method:ident [$({
        $variant:ident $([$boxed:ident])? $(($inline:ident))? $({ $($field:ident: $field_type:ty,)+ })?
    })*] [$($other:ident)*]) => {
        #[doc = $doc]
        #[allow(missing_docs, reason = "each variant is documented in `AgentEvent`")]
        #[derive(Debug)]
        pub enum $name<'a> {$(
            $variant $((&'a mut $boxed))? $((&'a mut $inline))? $({ $($field: &'a mut $field_type),+ })?,
        )*}

        impl AgentEvent {
            #[doc = $doc]
            #[must_use]
            pub fn $method(&mut self) -> Option<$name<'_>> {
                Some(match self {
                    $(Self::$variant
                        $((second!($boxed payload)))? $((second!($inline payload)))? $({ $($field),+ })?
                    => $name::$variant
                        $((second!($boxed payload)))? $((second!($inline payload)))? $({ $($field),+ })?,
                    )*
                    $(Self::$other { .. })|* => return None,
                })
            }
        }
    };
    (#[doc = $doc:literal] $name:ident $method:ident [$($kept:tt)*] [$($other:tt)*]
        { alone $variant:ident $($row:tt)* } $($rest:tt)*) => {
        selected_events! { #[doc = $doc] $name $method [$($kept)*] [$($other)* $variant] $($rest)* }
    };
    (#[doc = $doc:literal] $name:ident $method:ident [$($kept:tt)*] [$($other:tt)*]
        { as_is $variant:ident $($row:tt)* } $($rest:tt)*) => {
        selected_events! { #[doc = $doc] $name $method [$($kept)*] [$($other)* $variant] $($rest)* }
    };
    (#[doc = $doc:literal] $name:ident $method:ident [$($kept:tt)*] [$($other:tt)*]
        { $rule:ident $($row:tt)* } $($rest:tt)*) => {
        selected_events! { #[doc = $doc] $name $method [$($kept)* { $($row)* }] [$($other)*] $($rest)* }
    };
}
