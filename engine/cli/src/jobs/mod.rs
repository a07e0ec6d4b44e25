//! The bundled jobs.

pub mod csv;
pub mod flights_logic;
pub mod options;
pub mod words;
