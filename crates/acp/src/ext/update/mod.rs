//! The extension updates: own discriminators, with every vendor field under `_meta.harn`.
//!
//! One table, in `fields.rs`, defines the advertised names, the updates of the profile `harn`, and the same data on
//! the carrier of the profile `meta`. This file generates their types.

macro_rules! extension_updates {
    ($($(#[$doc:meta])* $variant:ident = $name:literal { $fields:ident })*) => {
        /// An update that is advertised as an extension, by its discriminator.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
        #[schemars(rename = "Extension")]
        pub enum ExtensionUpdateKind {
            /// The available slash commands. This is ACP's own update, which the contract lists too; every
            /// client receives it, even one that did not list it.
            #[serde(rename = "available_commands_update")]
            AvailableCommandsUpdate,
            $(
                $(#[$doc])*
                #[serde(rename = $name)]
                $variant,
            )*
        }

        impl ExtensionUpdateKind {
            /// All extension updates.
            pub const ALL: &'static [Self] = &[Self::AvailableCommandsUpdate, $(Self::$variant),*];

            /// Returns the discriminator.
            pub const fn name(self) -> &'static str {
                match self {
                    Self::AvailableCommandsUpdate => "available_commands_update",
                    $(Self::$variant => $name,)*
                }
            }
        }

        /// A `session/update` whose discriminator ACP does not define, without its envelope.
        #[derive(Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "sessionUpdate")]
        #[schemars(deny_unknown_fields)]
        pub enum ExtensionUpdate<'a> {
            $(
                $(#[$doc])*
                #[serde(rename = $name)]
                $variant {
                    /// The vendor fields.
                    #[serde(rename = "_meta")]
                    meta: HarnMeta<$fields<'a>>,
                },
            )*
        }

        /// The same data as `_meta.harn` of a `session_info_update`: typed clients drop an update that they
        /// do not know, but keep `_meta` on one that they know.
        #[derive(Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "sessionUpdate")]
        pub enum CarriedUpdate<'a> {
            $(
                $(#[$doc])*
                #[serde(rename = $name)]
                $variant($fields<'a>),
            )*
        }

        impl<'a> From<ExtensionUpdate<'a>> for CarriedUpdate<'a> {
            fn from(update: ExtensionUpdate<'a>) -> Self {
                match update {
                    $(ExtensionUpdate::$variant { meta } => Self::$variant(meta.harn),)*
                }
            }
        }

        $(
            impl<'a> ExtensionFields<'a> for $fields<'a> {
                const EXTENSION: ExtensionUpdateKind = ExtensionUpdateKind::$variant;

                fn into_direct(self) -> ExtensionUpdate<'a> {
                    ExtensionUpdate::$variant { meta: HarnMeta::new(self) }
                }

                fn into_carried(self) -> CarriedUpdate<'a> {
                    CarriedUpdate::$variant(self)
                }
            }
        )*
    };
}

mod fields;

pub use fields::*;

/// The fields of an extension update, and its two forms on the wire.
pub(crate) trait ExtensionFields<'a>: Sized {
    const EXTENSION: ExtensionUpdateKind;

    /// Returns the update with its own discriminator.
    fn into_direct(self) -> ExtensionUpdate<'a>;

    /// Returns the update for the carrier.
    fn into_carried(self) -> CarriedUpdate<'a>;
}

/// The set of extension updates that a client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExtensionSet(u32);

impl ExtensionSet {
    /// The set of all extension updates.
    pub const ALL: Self = Self((1 << ExtensionUpdateKind::ALL.len()) - 1);

    /// Returns the set with these names; unknown names are ignored.
    pub fn from_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let bits = names.into_iter().filter_map(|name| {
            let known = ExtensionUpdateKind::ALL
                .iter()
                .find(|it| it.name() == name)?;
            Some(known.bit())
        });
        Self(bits.fold(0, |all, bit| all | bit))
    }

    /// Returns whether the set contains the extension.
    pub const fn contains(self, extension: ExtensionUpdateKind) -> bool {
        self.0 & extension.bit() != 0
    }

    /// Returns the extensions in the set, sorted by name.
    pub fn to_sorted(self) -> Vec<ExtensionUpdateKind> {
        let all = ExtensionUpdateKind::ALL.iter().copied();
        let mut these: Vec<_> = all.filter(|it| self.contains(*it)).collect();
        these.sort_unstable_by_key(|it| it.name());
        these
    }
}

impl ExtensionUpdateKind {
    const fn bit(self) -> u32 {
        1 << self as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extension_set_contains_the_named_extensions() {
        let set = ExtensionSet::from_names(["log", "artifact", "telepathy"]);
        let names: Vec<_> = set
            .to_sorted()
            .into_iter()
            .map(ExtensionUpdateKind::name)
            .collect();
        assert_eq!(names, ["artifact", "log"]);
        assert!(!set.contains(ExtensionUpdateKind::Progress));
        assert_eq!(ExtensionSet::from_names([]).to_sorted(), []);
        let all = ExtensionUpdateKind::ALL.iter().map(|it| it.name());
        assert_eq!(ExtensionSet::from_names(all), ExtensionSet::ALL);
        assert_eq!(
            ExtensionSet::ALL.to_sorted().len(),
            ExtensionUpdateKind::ALL.len()
        );
    }
}
