//! Looking at 64 bytes at once: where a byte occurs, as bits.

/// Bytes of a block.
pub(super) const BLOCK: usize = 64;

/// Bit `i` is set when byte `i` of the block is `byte`. (In words rather than vectors: those would need unsafe code.)
#[inline(always)]
pub(super) fn find(block: &[u8; BLOCK], byte: u8) -> u64 {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const REST: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let wanted = u64::from(byte) * LOW;
    let mut bits = 0;
    for at in 0..8 {
        let differs = word(block, at) ^ wanted;
        // The top bit of each byte of `equal` is set where `differs` has a zero byte; no carry leaves its byte.
        let equal = !(((differs & REST) + REST) | differs | REST);
        // Gathers the eight top bits into the top byte.
        bits |= ((equal >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * at);
    }
    bits
}

#[inline(always)]
fn word(block: &[u8; BLOCK], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&block[8 * at..8 * at + 8]);
    u64::from_le_bytes(bytes)
}

/// Bit `i` of the result is the parity of bits `0..=i`: set from each odd set bit up to the next one.
#[inline(always)]
pub(super) fn between(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_byte_that_is_there_is_found(
            bytes in prop::collection::vec(prop::sample::select(vec![0u8, 1, 9, 10, 11, 127, 128, 138, 255]), 64),
            byte in prop::sample::select(vec![0u8, 10, 127, 128, 255]),
        ) {
            let block: [u8; BLOCK] = bytes.clone().try_into().unwrap();
            let want = (0..64).filter(|i| bytes[*i] == byte).fold(0, |bits, i| bits | 1u64 << i);
            prop_assert_eq!(find(&block, byte), want);
        }

        #[test]
        fn between_is_the_parity_so_far(bits: u64) {
            let mut inside = false;
            for i in 0..64 {
                inside ^= bits >> i & 1 == 1;
                prop_assert_eq!(between(bits) >> i & 1 == 1, inside);
            }
        }
    }
}
