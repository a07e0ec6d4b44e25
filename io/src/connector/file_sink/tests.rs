//! The sink as a coordinator drives it, over a storage that dies at any operation.

mod commit;
mod crash;
mod failures;
mod harness;
mod neighbours;
mod recovery;
mod rolling;
