//! The control channel of a running job: a socket that only its owner can use.

mod claim;
mod client;
pub mod protocol;
pub mod report;
mod server;

pub use claim::Claim;
pub use client::{Running, ask, find, running};
pub use server::{Control, Server};
