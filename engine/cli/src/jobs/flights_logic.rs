//! What the main job makes of a flight: totals per airline and per origin. Pure.

use super::csv::{Unusable, add, field, integer};

/// What flights are totalled by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    /// The airline that flew.
    Airline,
    /// The airport it left.
    Origin,
}

impl By {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Airline, Self::Origin];

    /// The word for it in the output.
    pub fn word(self) -> &'static str {
        match self {
            Self::Airline => "airline",
            Self::Origin => "origin",
        }
    }

    /// Place and name of the field that holds it, from 0.
    fn field(self) -> (usize, &'static str) {
        match self {
            Self::Airline => (5, "carrier"),
            Self::Origin => (8, "origin"),
        }
    }

    /// Its value in a record of `flights.csv`.
    ///
    /// # Errors
    /// There are not so many fields.
    pub fn of<'s>(self, line: &'s [u8], scratch: &'s mut Vec<u8>) -> Result<&'s [u8], Unusable> {
        let (index, name) = self.field();
        field(line, index, scratch).ok_or(Unusable::Missing { field: name, place: index + 1 })
    }
}

/// Minutes by which a flight left late; none when it was cancelled.
///
/// # Errors
/// The field is missing, or holds something else than a whole number.
pub fn delay(line: &[u8]) -> Result<Option<i64>, Unusable> {
    const NAME: &str = "dep_delay_min";
    let mut scratch = Vec::new();
    match field(line, 3, &mut scratch) {
        None => Err(Unusable::Missing { field: NAME, place: 4 }),
        Some(b"") => Ok(None),
        Some(text) => integer(NAME, text).map(Some),
    }
}

/// Totals of a group of flights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Flights, cancelled ones included.
    pub flights: i64,
    /// Cancelled flights.
    pub cancelled: i64,
    /// Sum of the delays in minutes; a cancelled flight adds none.
    pub delay_sum: i64,
    /// The greatest delay in minutes; 0 until one left late.
    pub worst: i64,
}

impl Totals {
    /// With one more flight.
    ///
    /// # Errors
    /// The sum of the delays would overflow.
    pub fn with(self, delay: Option<i64>) -> Result<Self, Unusable> {
        let flights = add(self.flights, 1)?;
        Ok(match delay {
            None => Self { flights, cancelled: self.cancelled + 1, ..self },
            Some(minutes) => Self {
                flights,
                delay_sum: add(self.delay_sum, minutes)?,
                worst: self.worst.max(minutes),
                ..self
            },
        })
    }

    /// The totals in the order of the output.
    pub fn numbers(self) -> [i64; 4] {
        [self.flights, self.cancelled, self.delay_sum, self.worst]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATE: &[u8] = b"7,1357036200000,1357035300000,15,20,UA,1545,N14228,EWR,IAH,1400";
    const CANCELLED: &[u8] = b"8,1357036200000,1357035300000,,,AA,1,,LGA,MIA,1096";

    #[test]
    fn airline_origin_and_delay_are_fields_of_the_record() {
        let mut scratch = Vec::new();
        assert_eq!(By::Airline.of(LATE, &mut scratch), Ok(b"UA".as_slice()));
        assert_eq!(By::Origin.of(LATE, &mut scratch), Ok(b"EWR".as_slice()));
        assert_eq!((delay(LATE), delay(CANCELLED)), (Ok(Some(15)), Ok(None)));
        assert_eq!(
            By::Origin.of(b"1,2,3,4,5,UA", &mut scratch),
            Err(Unusable::Missing { field: "origin", place: 9 })
        );
        assert!(delay(b"1,2").is_err());
        assert!(delay(b"seq,emit_ms,sched_ms,dep_delay_min").is_err());
    }

    /// Three flights by hand: 15 and -4 minutes, one cancelled.
    #[test]
    fn totals_count_cancelled_flights_without_delay() {
        let totals =
            [Some(15), None, Some(-4)].into_iter().try_fold(Totals::default(), Totals::with).unwrap();
        assert_eq!(totals.numbers(), [3, 1, 11, 15]);
        let full = Totals { delay_sum: i64::MAX, ..totals };
        assert!(full.with(Some(1)).is_err());
        assert_eq!(full.with(None).map(|t| t.flights), Ok(4));
    }
}
