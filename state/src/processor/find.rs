//! What is meant by a uid and the name of a state. Pure.

use super::Snapshot;
use crate::error::{Parts, StateError};
use crate::metadata::OperatorState;
use crate::operator_id::OperatorId;

/// There is nothing of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotFound {
    /// No operator has this uid, or this id.
    Operator {
        /// What was asked for.
        wanted: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// The operator has no state of this name.
    State {
        /// The operator.
        operator: String,
        /// What was asked for.
        wanted: String,
        /// Those that it has.
        known: Vec<String>,
    },
}

impl NotFound {
    /// The message in its parts.
    pub fn parts(&self) -> Parts {
        match self {
            Self::Operator { wanted, .. } => Parts::new(
                "read state",
                format_args!("operator {wanted:?}"),
                "the snapshot has none of this uid or id",
            ),
            Self::State { operator, wanted, .. } => Parts::new(
                "read state",
                format_args!("state {wanted:?}"),
                format_args!("{operator} has none of this name"),
            ),
        }
    }

    /// What there is in its place.
    pub fn hint(&self) -> Option<String> {
        let (Self::Operator { known, .. } | Self::State { known, .. }) = self;
        Some(if known.is_empty() {
            "there are none at all".to_owned()
        } else {
            format!("there is: {}", known.join(", "))
        })
    }
}

impl Snapshot {
    /// The operator with this uid, or whose id these 32 hex digits are.
    pub(super) fn operator(&self, uid: &str) -> Result<&OperatorState, StateError> {
        let id = crate::operator_id::parse_hex(uid).map(OperatorId::from_bits);
        let operators = &self.metadata.operators;
        let found = operators.iter().find(|operator| operator.uid.as_deref() == Some(uid));
        found.or_else(|| operators.iter().find(|operator| Some(operator.id) == id)).ok_or_else(|| {
            let known = operators.iter().map(|o| o.uid.clone().unwrap_or_else(|| o.id.to_string())).collect();
            NotFound::Operator { wanted: uid.to_owned(), known }.into()
        })
    }
}

/// Which of an operator's keyed states or lists has a name.
pub(super) enum Named {
    Keyed(u16),
    List(u16),
}

pub(super) fn named(operator: &OperatorState, name: &str) -> Result<Named, StateError> {
    let number = |nth: usize| u16::try_from(nth).ok();
    if let Some(state) = operator.states.iter().position(|state| state.name == name).and_then(number) {
        return Ok(Named::Keyed(state));
    }
    if let Some(list) = operator.lists.iter().position(|list| list.name == name).and_then(number) {
        return Ok(Named::List(list));
    }
    let names = operator.states.iter().map(|state| &state.name);
    let known = names.chain(operator.lists.iter().map(|list| &list.name)).cloned().collect();
    Err(NotFound::State { operator: operator.label(), wanted: name.to_owned(), known }.into())
}
