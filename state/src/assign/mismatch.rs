//! Why a snapshot does not fit a program.

use crate::descriptor::{Backend, Layout};
use crate::error::Parts;
use crate::key_group::ParallelismError;
use crate::operator_id::OperatorId;
use millstream_io::Schema;
use millstream_io::record::SchemaError;

/// A snapshot and a program do not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mismatch {
    /// The snapshot holds state of operators that the program does not have (ER-01).
    OperatorsRemoved {
        /// By uid, name and id.
        operators: Vec<String>,
    },
    /// The user set another number of key groups than the state is divided into (ER-02).
    MaxParallelism {
        /// By uid, name and id.
        operator: String,
        /// That of the state.
        restored: u32,
        /// That of the program.
        configured: u32,
    },
    /// More subtasks than the state has key groups (ER-03).
    AboveRestoredMax {
        /// By uid, name and id.
        operator: String,
        /// The key groups of the state.
        restored: u32,
        /// The subtasks asked for.
        configured: u32,
    },
    /// A parallelism that cannot be, whatever the snapshot.
    Parallelism {
        /// By uid, name and id.
        operator: String,
        /// Why not.
        cause: ParallelismError,
    },
    /// The type of a state cannot be described in a snapshot.
    Unstorable {
        /// By uid, name and id.
        operator: String,
        /// The state's name.
        state: String,
        /// Why not.
        cause: SchemaError,
    },
    /// The snapshot holds a list that the operator does not have any more.
    StateRemoved {
        /// By uid, name and id.
        operator: String,
        /// The state's name.
        state: String,
    },
    /// A state is of another kind, or another type, than in the snapshot (ER-10 to ER-12).
    StateChanged {
        /// By uid, name and id.
        operator: String,
        /// The state's name.
        state: String,
        /// What differs.
        change: Box<OldNew>,
    },
}

/// How a state differs from the one in a snapshot: old and new.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OldNew {
    /// What keeps it (BE-09).
    Backend(Backend, Backend),
    /// Its kind, `list` for a list (ER-12).
    Kind(String, String),
    /// The type of its keys (ER-11).
    Key(Schema, Schema),
    /// The type of its values or elements (ER-10).
    Value(Schema, Schema),
    /// How it is laid out.
    Layout(Layout, Layout),
    /// The type of its namespaces; none where there is the void one alone.
    Namespace(Option<Schema>, Option<Schema>),
    /// Whether what is in it has a time to live (ER-23).
    Ttl {
        /// In the snapshot.
        old: bool,
        /// In the program.
        new: bool,
    },
}

/// How a person calls an operator: by uid where it has one, by name and id otherwise.
pub(crate) fn label(uid: Option<&str>, name: &str, id: OperatorId) -> String {
    match uid {
        Some(uid) => format!("operator with uid {uid:?} (name {name:?}, id {id})"),
        None => format!("operator {name:?} (no uid, id {id})"),
    }
}

const ALLOW: &str = "`--allow-non-restored-state` (`-n`)";

impl Mismatch {
    /// The message in its parts.
    pub fn parts(&self) -> Parts {
        match self {
            Self::OperatorsRemoved { operators } => Parts::new(
                "restore",
                operators.join(", "),
                "the snapshot has state of it, but the operator is not available in the new program",
            ),
            Self::MaxParallelism { operator, restored, configured } => Parts::new(
                "restore",
                operator,
                format_args!(
                    "incompatible change of the max parallelism: its state was taken with {restored}, the program \
                     sets {configured}"
                ),
            ),
            Self::AboveRestoredMax { operator, restored, configured } => Parts::new(
                "restore",
                operator,
                format_args!(
                    "the parallelism of {configured} exceeds the max parallelism of {restored} that its state was \
                     taken with"
                ),
            ),
            Self::Parallelism { operator, cause } => Parts::new("start", operator, cause),
            Self::Unstorable { operator, state, cause } => {
                Parts::new("start", format_args!("state {state:?} of {operator}"), cause)
            }
            Self::StateRemoved { operator, state } => Parts::new(
                "restore",
                format_args!("state {state:?} of {operator}"),
                "the snapshot holds it, but the operator has no such state any more",
            ),
            Self::StateChanged { operator, state, change } => Parts::new(
                "restore",
                format_args!("state {state:?} of {operator}"),
                match &**change {
                    OldNew::Backend(old, new) => {
                        format!("the {new} backend cannot read what the {old} backend wrote")
                    }
                    OldNew::Kind(old, new) => {
                        format!("its kind must not change: {old} in the snapshot, {new} in the program")
                    }
                    OldNew::Key(old, new) => {
                        format!(
                            "its key type must be compatible: {old} in the snapshot, {new} in the program"
                        )
                    }
                    OldNew::Value(old, new) => {
                        format!(
                            "its new type must not be incompatible: {old} in the snapshot, {new} in the program"
                        )
                    }
                    OldNew::Layout(old, new) => {
                        format!("it cannot be read: {old} in the snapshot, {new} in the program")
                    }
                    OldNew::Namespace(old, new) => {
                        let name = |namespace: &Option<Schema>| {
                            namespace.as_ref().map_or("none".to_owned(), Schema::to_string)
                        };
                        format!(
                            "the type of its namespaces must be the same: {} in the snapshot, {} in the program",
                            name(old),
                            name(new)
                        )
                    }
                    OldNew::Ttl { old, new } => {
                        let with = |ttl: bool| if ttl { "with" } else { "without" };
                        format!(
                            "state migration is needed: {} a time to live in the snapshot, {} one in the program",
                            with(*old),
                            with(*new)
                        )
                    }
                },
            ),
        }
    }

    /// What the user may do.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::OperatorsRemoved { .. } => Some(format!(
                "give the operator its old uid; or, to leave the state behind for good, use {ALLOW}"
            )),
            Self::StateRemoved { .. } => {
                Some(format!("bring the state back; or, to leave it behind for good, use {ALLOW}"))
            }
            Self::MaxParallelism { restored, .. } => {
                Some(format!("set the max parallelism to {restored}, or leave it unset to take it over"))
            }
            Self::AboveRestoredMax { restored, .. } => {
                Some(format!("reduce parallelism to {restored} or less"))
            }
            Self::Parallelism { .. } | Self::Unstorable { .. } => None,
            Self::StateChanged { change, .. } => match &**change {
                OldNew::Backend(old, _) => {
                    Some(format!("set state.backend.type to {old}, or use a canonical savepoint"))
                }
                _ => Some("go back to the old type, or give the changed state a new name".to_owned()),
            },
        }
    }
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.parts().fmt(f)
    }
}

impl std::error::Error for Mismatch {}
