//! Derived records, as a user's crate sees them.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

use millstream_io::record::{Record, Row};

/// A bid.
#[derive(Clone, Debug, PartialEq, Record)]
#[record(crate = "millstream_io::record")]
pub struct Bid {
    /// The auction.
    pub auction: u64,
    url: String,
    tags: Vec<String>,
    r#type: Option<u8>,
}

#[test]
fn a_struct_is_its_fields_in_order() {
    let bid = Bid { auction: 7, url: "u".into(), tags: vec![], r#type: Some(9) };
    let bytes = Bid::encode(bid.view());
    assert_eq!(bytes, [7, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, b'u', 0, 0, 0, 0, 0, 0, 0, 0, 1, 9]);
    let view: BidRef<'_> = Row::<Bid>::parse(&bytes).unwrap().view();
    assert_eq!((view.auction, view.url, view.tags.len(), view.r#type), (7, "u", 0, Some(9)));
    assert_eq!(view, bid.view());
    assert_eq!(Bid::own(view), bid);
    assert_eq!(format!("{view:?}"), "BidRef { auction: 7, url: \"u\", tags: [], type: Some(9) }");
}
