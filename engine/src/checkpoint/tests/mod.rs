//! The coordinator as stories, one rule each, and against random histories.

mod endings;
mod failures;
mod lifecycle;
mod model;
mod observer;
mod overtaking;
mod requests;
mod schedule;
mod statistics;
mod story;
