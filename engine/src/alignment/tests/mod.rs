//! The table of BR-03, row by row, and against a model over random interleavings.

mod model;
mod overtaking;
mod rows;
