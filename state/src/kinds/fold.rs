//! What every record is folded into: one value, or an accumulator with a result.

use super::place::Place;
use millstream_io::record::{Key, Record};
use std::marker::PhantomData;

/// How two values become one.
///
/// ```
/// use millstream_state::kinds::Reduce;
///
/// struct Highest;
///
/// impl Reduce for Highest {
///     type Value = u64;
///     fn reduce(so_far: &mut u64, value: u64) {
///         *so_far = value.max(*so_far);
///     }
/// }
/// ```
pub trait Reduce: 'static {
    /// What goes in, is kept, and comes out.
    type Value: Record;

    /// Folds a value into what there is.
    fn reduce(so_far: &mut Self::Value, value: <Self::Value as Record>::Ref<'_>);
}

/// How records become an accumulator, and that a result.
///
/// ```
/// use millstream_state::kinds::Aggregate;
///
/// struct Mean;
///
/// impl Aggregate for Mean {
///     type In = u64;
///     type Accumulator = (u64, u64);
///     type Out = f64;
///     fn add((count, sum): &mut (u64, u64), value: u64) {
///         *count += 1;
///         *sum += value;
///     }
///     fn result((count, sum): (u64, u64)) -> f64 {
///         sum as f64 / count as f64
///     }
/// }
/// ```
pub trait Aggregate: 'static {
    /// What goes in.
    type In: Record;
    /// What is kept; it begins with the default.
    type Accumulator: Record + Default;
    /// What comes out.
    type Out;

    /// Adds one.
    fn add(accumulator: &mut Self::Accumulator, value: <Self::In as Record>::Ref<'_>);

    /// The result of what was added.
    fn result(accumulator: <Self::Accumulator as Record>::Ref<'_>) -> Self::Out;
}

/// What was folded for a key.
#[must_use = "a view does nothing by itself"]
pub struct ReducingView<'a, R, N = ()> {
    place: Place<'a>,
    of: PhantomData<fn() -> (R, N)>,
}

impl<'a, R: Reduce, N: Key> ReducingView<'a, R, N> {
    pub(super) fn new(place: Place<'a>) -> Self {
        Self { place, of: PhantomData }
    }

    /// The same in a namespace.
    pub fn within(self, namespace: N::Ref<'_>) -> Self {
        Self::new(self.place.within::<N>(namespace))
    }

    /// Folds a value in; the first one is kept as it is.
    pub fn add(&mut self, value: <R::Value as Record>::Ref<'_>) {
        self.place.touch(false);
        let so_far = self.place.found(|bytes| R::Value::parse(bytes).map(|(kept, _)| R::Value::own(kept)));
        match so_far {
            Some(mut so_far) => {
                R::reduce(&mut so_far, value);
                self.place.put(|out| R::Value::encode_into(so_far.view(), out));
            }
            None => self.place.put(|out| R::Value::encode_into(value, out)),
        }
    }

    /// What there is, if any value was added.
    pub fn get(mut self) -> Option<<R::Value as Record>::Ref<'a>> {
        self.place.touch(true);
        self.place.into_found(|bytes| R::Value::parse(bytes).map(|(value, _)| value))
    }

    /// Forgets all that was added.
    pub fn clear(&mut self) {
        self.place.remove();
    }
}

/// What was accumulated for a key.
#[must_use = "a view does nothing by itself"]
pub struct AggregatingView<'a, A, N = ()> {
    place: Place<'a>,
    of: PhantomData<fn() -> (A, N)>,
}

impl<'a, A: Aggregate, N: Key> AggregatingView<'a, A, N> {
    pub(super) fn new(place: Place<'a>) -> Self {
        Self { place, of: PhantomData }
    }

    /// The same in a namespace.
    pub fn within(self, namespace: N::Ref<'_>) -> Self {
        Self::new(self.place.within::<N>(namespace))
    }

    /// Adds a value.
    pub fn add(&mut self, value: <A::In as Record>::Ref<'_>) {
        self.place.touch(false);
        let kept =
            self.place.found(|bytes| A::Accumulator::parse(bytes).map(|(a, _)| A::Accumulator::own(a)));
        let mut accumulator = kept.unwrap_or_default();
        A::add(&mut accumulator, value);
        self.place.put(|out| A::Accumulator::encode_into(accumulator.view(), out));
    }

    /// The result, if any value was added.
    pub fn get(mut self) -> Option<A::Out> {
        self.place.touch(true);
        self.place.into_found(|bytes| A::Accumulator::parse(bytes).map(|(kept, _)| A::result(kept)))
    }

    /// Forgets all that was added.
    pub fn clear(&mut self) {
        self.place.remove();
    }
}
