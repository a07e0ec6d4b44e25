//! Fuzz targets: what reads untrusted bytes, given any bytes.
//!
//! Each file in `targets` is one. On the stable toolchain a target is built with the compiler's own coverage pass:
//!
//! ```text
//! RUSTC_BOOTSTRAP=1 RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
//!   -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
//!   -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Zsanitizer=address" \
//!   cargo build --profile ci -p millstream-fuzz --bin record --target x86_64-unknown-linux-gnu
//! target/x86_64-unknown-linux-gnu/ci/record -max_total_time=60
//! ```
