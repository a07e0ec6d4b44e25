//! The table of BR-03, row by row, and against a model over random interleavings.

mod loops;
mod model;
mod overtaking;
mod rounds;
mod rows;
