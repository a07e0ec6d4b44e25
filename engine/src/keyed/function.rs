//! A keyed function: any number of states of any kind, and timers.

use crate::operator::Collector;
use millstream_io::record::{Key, Record};
use millstream_state::kinds::{Scope, Timer};

/// A user's function behind a `key_by`, with states and timers for each key; described with
/// [`KeyedStream::function`](crate::KeyedStream::function).
///
/// It holds the handles of its states, and nothing that must outlive a failure: it is cloned for each subtask and each
/// attempt, while its states are part of every checkpoint, and follow their keys when the parallelism changes (ST-01 to
/// ST-03, TM-01 to TM-05, TT-01).
///
/// ```
/// use millstream::connector::{CollectSink, Collection};
/// use millstream::state::{List, Scope, Timer, Timers, Value};
/// use millstream::{Collector, Env, KeyedFunction};
///
/// /// Hands the words of a sender on when there are three, or when the input has ended.
/// #[derive(Clone)]
/// struct Letters {
///     words: List<String>,
///     count: Value<u64>,
///     timers: Timers,
/// }
///
/// impl KeyedFunction for Letters {
///     type Key = String;
///     type In = (String, String);
///     type Out = String;
///
///     fn process(
///         &mut self,
///         (_, word): (&str, &str),
///         cx: &mut Scope<'_, String>,
///         out: &mut Collector<'_, String>,
///     ) {
///         cx.list(self.words).add(word);
///         cx.value(self.count).update(|count| *count += 1);
///         match cx.value(self.count).get() {
///             Some(3) => self.send(cx, out),
///             // Event time ends with the input.
///             _ => cx.timers(self.timers).register_event(i64::MAX),
///         }
///     }
///
///     fn on_timer(&mut self, _: &Timer<String>, cx: &mut Scope<'_, String>, out: &mut Collector<'_, String>) {
///         self.send(cx, out);
///     }
/// }
///
/// impl Letters {
///     fn send(&self, cx: &mut Scope<'_, String>, out: &mut Collector<'_, String>) {
///         let words: Vec<&str> = cx.list(self.words).get().collect();
///         let letter = words.join(" ");
///         if !letter.is_empty() {
///             out.emit(&letter);
///         }
///         cx.list(self.words).clear();
///         cx.value(self.count).clear();
///     }
/// }
///
/// let env = Env::new();
/// let sink = CollectSink::new();
/// let letters = sink.collected();
/// let words = [("ada", "to"), ("bob", "who"), ("ada", "be"), ("ada", "or"), ("ada", "not")];
/// let words = words.map(|(sender, word)| (sender.to_owned(), word.to_owned()));
/// env.source(Collection::new(words.to_vec()))
///     .key_by::<String>(|word| word.get().0)
///     .function("letters", |states| Letters {
///         words: states.list("words"),
///         count: states.value("count"),
///         timers: states.timers(),
///     })
///     .uid("letters")
///     .sink(sink);
/// env.execute("letters")?;
/// let mut letters = letters.take();
/// letters.sort();
/// assert_eq!(letters, ["not", "to be or", "who"]);
/// # Ok::<(), millstream::Error>(())
/// ```
pub trait KeyedFunction: Clone + Send + 'static {
    /// The key of the stream.
    type Key: Key;
    /// What it takes.
    type In: Record;
    /// What it emits.
    type Out: Record;

    /// Takes one record; `cx` has its key, and the states of that.
    fn process(
        &mut self,
        record: <Self::In as Record>::Ref<'_>,
        cx: &mut Scope<'_, Self::Key>,
        out: &mut Collector<'_, Self::Out>,
    );

    /// A timer is due; `cx` has its key (TM-05). It is gone when this is called. Never at the same time as another method.
    fn on_timer(
        &mut self,
        _timer: &Timer<Self::Key>,
        _cx: &mut Scope<'_, Self::Key>,
        _out: &mut Collector<'_, Self::Out>,
    ) {
    }

    /// The input has ended, and all event-time timers have been called: for every key that has something in a state, once,
    /// in no particular order. Timers of processing time that are still waiting are not called any more (TM-03).
    fn on_end(&mut self, _cx: &mut Scope<'_, Self::Key>, _out: &mut Collector<'_, Self::Out>) {}
}
