//! The sink as a coordinator drives it, over a storage that dies at any operation.

mod cases;
mod crash;
mod harness;
