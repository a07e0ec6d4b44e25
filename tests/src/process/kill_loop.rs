//! K(n): kill a job at random moments and start it again, n times, then let it finish (ruling 30).

use super::output::Side;
use super::place::Place;
use super::random::Random;
use super::running::{Ended, Running};
use super::wait::pause;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A loop of kills. The checkpoints are in `ck` of the place, the output in `out`, the summary in `summary.json`.
#[derive(Clone, Debug, Default)]
pub struct KillLoop {
    /// Time between checkpoints: 20 ms in K(n).
    pub interval: &'static str,
    /// Other options of `run`.
    pub options: String,
    /// More of them, those of the first start, of the second, and so on, and over again. May be empty.
    pub in_turn: Vec<String>,
    /// The job and its options, without `--delay`.
    pub job: String,
    /// The name of the job, where its checkpoints are asked before each kill what they hold in flight.
    pub asked: Option<&'static str>,
    /// Pause of each record. An undisturbed run with it must outlast the loop.
    pub delay: Duration,
    /// Number of kills.
    pub kills: usize,
    /// A kill comes this many milliseconds after the start at the latest.
    pub within_ms: u64,
    /// Of the moments of the kills.
    pub seed: u64,
}

/// When the kills came, as far as what is left behind can tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kills {
    /// Before the first record: the job had not said what it goes on from.
    pub before: usize,
    /// While records flowed, with no checkpoint under way.
    pub between: usize,
    /// While records flowed, with a checkpoint that was not completed.
    pub in_checkpoint: usize,
    /// After a checkpoint was completed and before all of its output was committed: its restart commits the rest.
    pub in_commit: usize,
    /// After the job had ended by itself.
    pub after: usize,
    /// Starts that went on from a checkpoint.
    pub resumed: usize,
    /// The most bytes of records in flight that a completed checkpoint has held.
    pub in_flight: u64,
}

impl Kills {
    /// Kills while records flowed. One in a commit is one of these as well, and counted there.
    pub fn flowing(&self) -> usize {
        self.between + self.in_checkpoint
    }

    fn all(&self) -> usize {
        self.before + self.flowing() + self.after
    }

    /// Whether the loop counts: at least 80 % of the kills while records flowed, a restart from a checkpoint, and the job
    /// not over before the last kill.
    pub fn count(&self) -> bool {
        self.after == 0 && 5 * self.flowing() >= 4 * self.all() && self.resumed > 0
    }
}

impl fmt::Display for Kills {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { before, between, in_checkpoint, in_commit, after, resumed, in_flight } = self;
        write!(
            f,
            "{} kills: {before} before the first record, {between} between checkpoints, {in_checkpoint} in a \
             checkpoint, {after} after the end; {in_commit} of them in a commit; {resumed} restarts from a checkpoint",
            self.all()
        )?;
        if *in_flight > 0 { write!(f, "; up to {in_flight} bytes in flight") } else { Ok(()) }
    }
}

impl KillLoop {
    /// Kills and restarts in a new place until a loop counts, each time with a longer pause and later kills; then lets the job finish. Gives the
    /// place, the kills, and how the last run ended.
    ///
    /// # Panics
    /// A run ends other than by a kill; a start does not go on from the newest completed checkpoint (MS-004); a
    /// committed file changes; no loop counts.
    #[track_caller]
    pub fn run(&self, new: impl Fn() -> Place) -> (Place, Kills, Ended) {
        let (mut delay, mut within) = (self.delay, Duration::from_millis(self.within_ms));
        for _ in 0..4 {
            let place = new();
            let mut course = Course::new(&place, self);
            let kills = course.kill_all(delay, within);
            eprintln!("{} --delay {delay:?} within {within:?}: {kills}", self.job);
            if kills.count() {
                let ended =
                    place.start(&self.args(self.kills, None)).wait_at_most(Duration::from_secs(300)).well();
                course.nothing_committed_changed();
                return (place, kills, ended);
            }
            // Where most kills came before the first record, processes start slowly here.
            delay *= 2;
            within *= 2;
        }
        panic!("no loop of kills counted");
    }

    /// The arguments of a start, counted from 0.
    fn args(&self, start: usize, delay: Option<Duration>) -> String {
        let Self { interval, options, in_turn, job, .. } = self;
        let turn = start.checked_rem(in_turn.len()).map_or("", |turn| &in_turn[turn]);
        let delay = delay.map(|delay| format!("--delay {}us", delay.as_micros())).unwrap_or_default();
        format!(
            "run -D execution.checkpointing.interval={interval} -D execution.checkpointing.dir=ck \
             --summary summary.json {options} {turn} {job} {delay}"
        )
    }
}

/// One course of a loop through its kills.
struct Course<'a> {
    place: &'a Place,
    of: &'a KillLoop,
    random: Random,
    kills: Kills,
    /// What is committed, with its size.
    committed: BTreeMap<PathBuf, u64>,
    /// What the last kill left.
    left: Option<Left>,
}

/// What a kill left behind.
struct Left {
    newest: Option<(u64, PathBuf)>,
    hidden: BTreeSet<PathBuf>,
}

impl<'a> Course<'a> {
    fn new(place: &'a Place, of: &'a KillLoop) -> Self {
        let random = Random::new(of.seed);
        Self { place, of, random, kills: Kills::default(), committed: BTreeMap::new(), left: None }
    }

    fn kill_all(&mut self, delay: Duration, within: Duration) -> Kills {
        while self.kills.all() < self.of.kills && self.kills.after == 0 {
            let args = self.of.args(self.kills.all(), Some(delay));
            let moment = Duration::from_micros(self.random.below(within.as_micros() as u64 + 1));
            let running = self.place.start(&args);
            let begun = Instant::now();
            let mut seen = false;
            while let Some(left) = moment.checked_sub(begun.elapsed()) {
                if !seen && running.start_line().is_some() {
                    seen = true;
                    self.look_at_commit();
                }
                pause(left.min(Duration::from_millis(2)));
            }
            if let Some(job) = self.of.asked {
                self.kills.in_flight = self.kills.in_flight.max(self.place.in_flight(job));
            }
            self.kill(running);
        }
        self.kills.clone()
    }

    /// The start has committed what the checkpoint that it goes on from still had to commit: were there such files?
    fn look_at_commit(&mut self) {
        let Some(left) = &self.left else { return };
        let visible = self.place.files("out", Side::Visible);
        let committed = |file: &PathBuf| left.hidden.iter().any(|hidden| is_hidden_form(hidden, file));
        let any = visible.iter().any(committed);
        // Else the checkpoint that came in the meantime may have committed them.
        if any && self.place.checkpoints("ck").last() == left.newest.as_ref() {
            self.kills.in_commit += 1;
        }
    }

    #[track_caller]
    fn kill(&mut self, running: Running) {
        let ended = running.kill();
        let newest = self.left.as_ref().and_then(|left| left.newest.clone());
        match (&ended.start_line, &newest) {
            (None, _) => {}
            (Some(line), Some((_, path))) => {
                assert_eq!(line, &format!("resuming from {}", path.display()), "{}", ended.stderr);
                self.kills.resumed += 1;
            }
            (Some(line), None) => assert_eq!(line, "starting without state (no completed checkpoint)"),
        }
        if !ended.was_killed() {
            ended.well();
            self.kills.after += 1;
            return;
        }
        let completed = self.place.checkpoints("ck");
        let attempts = self.place.attempts("ck");
        match ended.start_line {
            None => self.kills.before += 1,
            Some(_) if attempts.len() > completed.len() => self.kills.in_checkpoint += 1,
            Some(_) => self.kills.between += 1,
        }
        assert!(completed.last() >= newest.as_ref(), "the newest checkpoint never goes back");
        self.nothing_committed_changed();
        let hidden = self.place.files("out", Side::Hidden).into_iter().collect();
        self.left = Some(Left { newest: completed.last().cloned(), hidden });
    }

    /// Files that were visible once are there for good, as they were.
    #[track_caller]
    fn nothing_committed_changed(&mut self) {
        let files = self.place.files("out", Side::Visible);
        let size = |file: PathBuf| fs::metadata(&file).map(|found| (file, found.len()));
        let now: BTreeMap<_, _> = files.into_iter().filter_map(|file| size(file).ok()).collect();
        for (file, len) in &self.committed {
            assert_eq!(now.get(file), Some(len), "{} was committed", file.display());
        }
        self.committed = now;
    }
}

/// Whether one file, by its name, is what the other was before it was committed.
fn is_hidden_form(hidden: &PathBuf, visible: &PathBuf) -> bool {
    let name =
        |file: &PathBuf| file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name(hidden).starts_with(&format!(".{}.", name(visible)))
}
