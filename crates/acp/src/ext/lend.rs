//! Conversion of model fields to wire fields: large values are borrowed, small ones are copied.
//!
//! A wire struct that is written borrows from the model's record; one that is read owns its text. `Cow` makes
//! both the same type.

use std::{borrow::Cow, ops::Deref};

use harn_model::{ErrorCategory, FailureCategory, GrantScope, SideEffectLevel, ToolCallStatus};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

pub(crate) trait Lend<'a, T> {
    /// Returns the field as it is on the wire.
    fn lend(&'a self) -> T;
}

impl<'a> Lend<'a, Cow<'a, str>> for String {
    fn lend(&'a self) -> Cow<'a, str> {
        self.into()
    }
}

impl<'a, T: Clone> Lend<'a, Cow<'a, [T]>> for Vec<T> {
    fn lend(&'a self) -> Cow<'a, [T]> {
        self.into()
    }
}

impl<'a, T: Lend<'a, U>, U> Lend<'a, Option<U>> for Option<T> {
    fn lend(&'a self) -> Option<U> {
        self.as_ref().map(Lend::lend)
    }
}

/// A large record: borrowed when it is written, boxed when it was read.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordCow<'a, T> {
    /// A record of the model.
    Borrowed(&'a T),
    /// A decoded record.
    Owned(Box<T>),
}

impl<T: Clone> RecordCow<'_, T> {
    /// Returns the record, cloned if it is borrowed.
    pub fn into_owned(self) -> T {
        match self {
            Self::Borrowed(record) => record.clone(),
            Self::Owned(record) => *record,
        }
    }
}

impl<T> Deref for RecordCow<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Self::Borrowed(record) => record,
            Self::Owned(record) => record,
        }
    }
}

impl<T: Serialize> Serialize for RecordCow<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for RecordCow<'_, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(|record| Self::Owned(Box::new(record)))
    }
}

#[cfg(feature = "schema")]
impl<T: schemars::JsonSchema> schemars::JsonSchema for RecordCow<'_, T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        T::json_schema(generator)
    }
}

macro_rules! lent {
    ($($large:ty)*) => {
        $(impl<'a> Lend<'a, Cow<'a, $large>> for $large {
            fn lend(&'a self) -> Cow<'a, $large> {
                Cow::Borrowed(self)
            }
        })*
    };
}

macro_rules! copied {
    ($($small:ty)*) => {
        $(impl<'a> Lend<'a, $small> for $small {
            fn lend(&'a self) -> $small {
                *self
            }
        })*
    };
}

/// Implements `Lend` for ids, which are strings on the wire.
macro_rules! named {
    ($($id:ident)*) => {
        $(impl<'a> Lend<'a, Cow<'a, str>> for harn_model::$id {
            fn lend(&'a self) -> Cow<'a, str> {
                self.as_str().into()
            }
        })*
    };
}

lent! { Map<String, Value> Value harn_model::ToolAnnotations }
copied! { bool i64 u64 ErrorCategory FailureCategory GrantScope SideEffectLevel ToolCallStatus }
named! { MessageId SessionId TurnId WorkerId }

/// Declares the wire fields of the model's records and their conversion from the record.
macro_rules! wire_fields {
    (@one $(#[$doc:meta])* $name:ident from $record:ty
        { $($(#[$attr:meta])* $field:ident: $ty:ty),* $(,)? }
    ) => {
        wire_fields!(@one $(#[$doc])* $name { $($(#[$attr])* $field: $ty),* });

        impl<'a> From<&'a $record> for $name<'a> {
            fn from(record: &'a $record) -> Self {
                use crate::ext::lend::Lend as _;
                Self { $($field: record.$field.lend()),* }
            }
        }
    };
    (@one $(#[$doc:meta])* $name:ident { $($(#[$attr:meta])* $field:ident: $ty:ty),* $(,)? }) => {
        #[derive(serde::Serialize, serde::Deserialize, crate::JsonSchema)]
        #[serde(rename_all = "camelCase")]
        $(#[$doc])*
        #[allow(missing_docs, reason = "the fields are the contract's; the model documents them")]
        pub struct $name<'a> {
            $($(#[$attr])* pub $field: $ty,)*
        }
    };
    ($($(#[$doc:meta])* pub $name:ident $(from $record:ty)? { $($fields:tt)* })*) => {
        $(wire_fields!(@one $(#[$doc])* $name $(from $record)? { $($fields)* });)*
    };
}

pub(crate) use wire_fields;
