//! Records: user data as bytes, and views that borrow from those bytes.
//!
//! A [`Record`] has one encoding, used in segments, state and snapshots. What operators see is [`Record::Ref`], a
//! `Copy` view: `u64` for `u64`, `&str` for `String`, `BidRef<'_>` for a derived `Bid`. The trait holds safe
//! conversions only; the bytes themselves are written and read by the sealed [`Wire`] types of [`trusted`], so that
//! implementing `Record`, by hand or by derive, needs no unsafe code and can break no memory.

mod error;
mod hash;
mod key;
mod list;
mod row;
mod scalar;
mod schema;
mod shape;
mod text;
pub mod trusted;
mod tuple;
mod view;

#[cfg(test)]
mod tests;

pub use error::DecodeError;
pub use hash::{ends, hash_bytes, hash_word};
pub use key::Key;
pub use millstream_io_derive::Record;
pub use row::Row;
pub use schema::{Field, Outer, Schema, SchemaError, Variant};
pub use shape::{Shape, ShapeError};
pub use trusted::{KeyWire, ListIter, ListRef, ListWire, Wire};
pub use view::View;

use std::fmt::Debug;

/// The form in which a record's view is written: see [`Record::to_wire`].
pub type WireView<'a, T> = <<T as Record>::Wire as Wire>::View<'a>;

/// User data that can travel, be kept as state and be part of a snapshot.
///
/// Usually derived:
///
/// ```
/// use millstream_io::record::{Record, Row};
///
/// #[derive(Record)]
/// # #[record(crate = "millstream_io::record")]
/// struct Bid {
///     auction: u64,
///     price: u64,
///     url: String,
/// }
///
/// let bid = Bid { auction: 7, price: 100, url: "example.com".into() };
/// let bytes = Bid::encode(bid.view());
/// let view: BidRef<'_> = Row::<Bid>::parse(&bytes)?.view();
/// assert_eq!((view.auction, view.url), (7, "example.com"));
/// assert_eq!(Bid::schema().to_string(), "{auction: u64, price: u64, url: string}");
/// # Ok::<(), millstream_io::DecodeError>(())
/// ```
///
/// Implementations by hand map their view to and from that of a type that is a record already:
///
/// ```
/// use millstream_io::record::{Outer, Record, Schema, WireView, trusted::List};
/// use std::time::Duration;
///
/// struct Timeout(Duration);
///
/// impl Record for Timeout {
///     type Ref<'a> = Duration;
///     type Wire = <(u64, u32) as Record>::Wire;
///     type List = List<Self>;
///     fn view(&self) -> Self::Ref<'_> {
///         self.0
///     }
///     fn own(view: Self::Ref<'_>) -> Self {
///         Self(view)
///     }
///     fn shorten<'short, 'long: 'short>(view: Self::Ref<'long>) -> Self::Ref<'short> {
///         view
///     }
///     fn to_wire(view: Self::Ref<'_>) -> WireView<'_, Self> {
///         <(u64, u32)>::to_wire((view.as_secs(), view.subsec_nanos()))
///     }
///     fn from_wire(wire: WireView<'_, Self>) -> Self::Ref<'_> {
///         let (seconds, nanoseconds) = <(u64, u32)>::from_wire(wire);
///         Duration::from_secs(seconds).saturating_add(Duration::from_nanos(nanoseconds.into()))
///     }
///     fn describe(outer: &mut Outer) -> Schema {
///         <(u64, u32)>::describe(outer)
///     }
/// }
///
/// assert_eq!(Timeout::encode(Duration::from_millis(1)), [0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0x42, 0x0f, 0]);
/// ```
///
/// # Limits
/// A text, byte string or list takes less than 4 GiB, and lists are nested at most 128 deep inside a record: writing
/// more panics, so that what was written can always be read. Reading untrusted bytes never panics, and takes no memory;
/// what [`Record::own`] then takes is in proportion to the bytes.
pub trait Record: Sized + Send + 'static {
    /// What operators see: a cheap `Copy` view that borrows from the value or from encoded bytes.
    type Ref<'a>: Copy + Debug + PartialEq;

    /// The built-in encoding that this type is mapped to.
    type Wire: Wire;

    /// The built-in encoding of a `Vec<Self>`: [`List<Self>`](trusted::List). (Only `u8` has another one, so that the
    /// view of a `Vec<u8>` is a `&[u8]`.)
    type List: ListWire<Self>;

    /// The view of an owned value.
    fn view(&self) -> Self::Ref<'_>;

    /// An owned value from a view.
    fn own(view: Self::Ref<'_>) -> Self;

    /// The same view, for a shorter time: the body is `view`, unless the view holds views of other records, which are
    /// then shortened one by one. Where the compiler knows a view's parts it shortens the view without being asked.
    fn shorten<'short, 'long: 'short>(view: Self::Ref<'long>) -> Self::Ref<'short>;

    /// The view in the form in which it is written.
    fn to_wire(view: Self::Ref<'_>) -> WireView<'_, Self>;

    /// The view of what was written. Any view of the encoding may come, also one that `to_wire` would not give: bytes
    /// from a file are checked to be well-formed, not to make sense.
    fn from_wire(wire: WireView<'_, Self>) -> Self::Ref<'_>;

    /// Field names and types, as a part of what `outer` stands for. Called through [`Record::schema`].
    fn describe(outer: &mut Outer) -> Schema;

    /// Field names and types, as stored with a snapshot.
    fn schema() -> Schema {
        Self::describe(&mut Outer::default())
    }

    /// The encoded bytes of `view`.
    fn encode(view: Self::Ref<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        Self::encode_into(view, &mut out);
        out
    }

    /// Appends the encoded bytes of `view` to `out`.
    #[inline]
    fn encode_into(view: Self::Ref<'_>, out: &mut Vec<u8>) {
        trusted::append::<Self::Wire>(Self::to_wire(view), out);
    }

    /// Writes the encoded bytes of `view` to `out`, of which they take all: an encoding in place, where the size is
    /// known.
    ///
    /// ```
    /// use millstream_io::Record;
    /// let mut bytes = [0; 4];
    /// u32::encode_to(258, &mut bytes);
    /// assert_eq!(bytes, [2, 1, 0, 0]);
    /// ```
    ///
    /// # Panics
    /// When they take fewer bytes or more; what `out` then holds is no encoding.
    #[inline(always)]
    fn encode_to(view: Self::Ref<'_>, out: &mut [u8]) {
        trusted::fill::<Self::Wire>(Self::to_wire(view), out);
    }

    /// Reads one record from the front of untrusted bytes: checked, and without allocating. Returns the view and
    /// the number of bytes it takes.
    ///
    /// # Errors
    /// [`DecodeError`] says what is wrong.
    fn parse(bytes: &[u8]) -> Result<(Self::Ref<'_>, usize), DecodeError> {
        let (wire, used) = Self::Wire::parse(bytes)?;
        Ok((Self::from_wire(wire), used))
    }
}
