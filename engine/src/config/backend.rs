//! Which backend keeps keyed state.

use super::setting::Setting;
use millstream_state::descriptor::BackendName;

/// How keyed state is kept (BE-01).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StateBackend {
    /// Tables in memory, whose checkpoints have all of it.
    #[default]
    Hashmap,
    /// Pages in memory, whose checkpoints have what changed.
    Paged,
    /// What the program has registered under this name ([`Env::state_backend`](crate::Env::state_backend)); a start with a
    /// name that nothing is registered under is refused.
    Own(BackendName),
}

impl Setting for StateBackend {
    fn form() -> String {
        "hashmap | paged | the name of a registered backend".to_owned()
    }

    fn parse(text: &str) -> Result<Self, String> {
        let plain = text.trim().to_ascii_lowercase();
        match plain.as_str() {
            "hashmap" | "filesystem" | "jobmanager" => Ok(Self::Hashmap),
            "paged" => Ok(Self::Paged),
            _ => match BackendName::new(text.trim()) {
                Some(name) => Ok(Self::Own(name)),
                None => Err(format!("expected {}", Self::form())),
            },
        }
    }

    fn show(&self) -> String {
        match self {
            Self::Hashmap => "hashmap".to_owned(),
            Self::Paged => "paged".to_owned(),
            Self::Own(name) => name.to_string(),
        }
    }
}
