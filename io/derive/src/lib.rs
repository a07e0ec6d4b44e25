//! The derive macro of `Record`.
