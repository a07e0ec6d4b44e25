//! `run`: from options to a job that has ended.

use crate::app::now_ms;
use crate::args::Run;
use crate::conclude::{Conclusion, failed, unconcluded};
use crate::config_file;
use crate::control::{Claim, Server};
use crate::failure::{FAILED, Failure};
use crate::home::{Home, Surroundings};
use crate::job_args::{AtEnd, BuildError, JobArgs};
use crate::say::say;
use crate::signals::{Listener, take_large_files_as_errors};
use crate::steer::{End, Steered, fault};
use crate::summary::{Summary, last_path, written};
use crate::supervise::{Ended, Event, Watched, supervise};
use crate::{launch, log};
use millstream::config::{Config, ConfigError, Origin};
use millstream::runtime::Abandoned;
use millstream::{Env, JobHandle, JobId, JobState};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Time allowed for a clean stop unless `--grace` says otherwise.
const GRACE: Duration = Duration::from_secs(10);

/// A job that is to be run.
pub(crate) struct Job<'a> {
    /// Its name unless `--name` says otherwise.
    pub default_name: String,
    /// Describes it.
    pub build: &'a dyn Fn(&Env, &mut JobArgs) -> Result<(), BuildError>,
    /// Its part of the command line.
    pub args: JobArgs,
}

/// Runs a job to its end.
///
/// # Errors
/// Whatever refuses the start; help that was asked for.
pub(crate) fn run(options: Run, job: Job<'_>) -> Result<ExitCode, BuildError> {
    if launch::is_detached() {
        launch::leave_terminal();
    }
    log::to_stderr();
    let home = Home::new(&Surroundings::of_process());
    let name = options.name.clone().unwrap_or(job.default_name);
    if name.trim().is_empty() {
        return Err(Failure::refused("command line", "--name", "a job needs a name").into());
    }
    if name.chars().any(char::is_control) {
        let at = format!("--name {name}");
        return Err(
            Failure::refused("command line", at, "control characters are not allowed in a name").into()
        );
    }
    let env = Env::with_config(configuration(&options, &home)?);
    let mut args = job.args;
    (job.build)(&env, &mut args)?;
    let at_end = args.finish()?;
    let config = env.config();
    for warning in config.warnings() {
        say(format_args!("warning: {warning}"));
    }
    if let Some(summary) = &options.summary {
        Summary::check(summary)?;
    }
    let (sender, events) = channel();
    let signals = sender.clone();
    take_large_files_as_errors().map_err(|error| Failure::refused("listen to signals", "process", error))?;
    // From here on a signal means a clean stop, also while the job starts.
    let listener = Listener::start(move |signal| drop(signals.send(Event::Signal(signal))))
        .map_err(|error| Failure::refused("listen to signals", "process", error))?;
    let code = start_and_watch(&env, &name, &config, &home, &options, (sender, events), at_end)?;
    drop(listener);
    Ok(code)
}

/// The configuration that the options ask for.
fn configuration(options: &Run, home: &Home) -> Result<Config, Failure> {
    let mut config = Config::new();
    for (key, value) in &options.defines {
        config.set(key, value, Origin::Define)?;
    }
    for (key, value) in flags(options) {
        config.set(key, &value, Origin::Define)?;
    }
    if let Some(file) = &options.config {
        config_file::read(file, &mut config)?;
    }
    let checkpoints = home.checkpoints();
    // A default of the command's own (ruling 7): the library knows no directory.
    set_default_dir(&mut config, &checkpoints)?;
    Ok(config)
}

fn set_default_dir(config: &mut Config, dir: &Path) -> Result<(), ConfigError> {
    config.set("execution.checkpointing.dir", &dir.to_string_lossy(), Origin::Default)
}

/// Options that stand for a key.
fn flags(options: &Run) -> Vec<(&'static str, String)> {
    let path = |path: &PathBuf| path.to_string_lossy().into_owned();
    let on = |set: bool| set.then(|| "true".to_owned());
    let given = [
        ("execution.state-recovery.path", options.from_savepoint.as_ref().map(path)),
        ("execution.state-recovery.ignore-unclaimed-state", on(options.allow_non_restored_state)),
        ("execution.state-recovery.claim-mode", options.claim_mode.clone()),
        ("execution.state-recovery.fresh", on(options.fresh)),
        ("parallelism.default", options.parallelism.clone()),
    ];
    given.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}

fn start_and_watch(
    env: &Env,
    name: &str,
    config: &Config,
    home: &Home,
    options: &Run,
    (sender, events): (Sender<Event>, Receiver<Event>),
    at_end: AtEnd,
) -> Result<ExitCode, Failure> {
    let job_id = JobId::of(name).to_string();
    let checkpointing = config.checkpointing.interval.is_some();
    let checkpoints = config.checkpointing.dir.clone().unwrap_or_else(|| home.checkpoints());
    let scope = if checkpointing { checkpoints.as_path() } else { home.dir() };
    let (claim, listener) = Claim::take(home, name, &job_id, scope)?;
    let start_ms = now_ms();
    let finishing = sender.clone();
    env.before_end(move |ending| {
        let final_checkpoint = ending.has_final_checkpoint();
        let (answer, answered) = channel();
        let asked = finishing.send(Event::Finishing(Box::new(ending), answer));
        // Nobody answers when the time for a clean stop is over: the process is about to leave.
        let left = || Failure::failed("finish", "job", "the process leaves");
        let failure = asked.ok().and_then(|()| answered.recv().ok());
        Err(unconcluded(failure.unwrap_or_else(left), final_checkpoint))
    });
    let handle = env.start(name).map_err(|error| failed(&error))?;
    say(handle.start_line());
    let job = Arc::new(Steered {
        control: handle.control(),
        job_id: job_id.clone(),
        parallelism: config.pipeline.parallelism,
        start_ms,
        // The engine has made it, and shows it as it is found from everywhere: so do we.
        checkpoints: fs::canonicalize(&checkpoints).unwrap_or(checkpoints),
        checkpointing,
        watch: sender.clone(),
        end: End::default(),
    });
    let server = Server::start(listener, Arc::clone(&job) as _).map_err(|error| {
        Failure::failed("start control socket", claim.socket_path().display().to_string(), error)
    })?;
    if launch::is_detached() {
        launch::report_running(&job_id, &claim.socket_path().with_extension("log"))?;
    }
    let mut conclusion = Conclusion {
        job: Arc::clone(&job),
        summary: options.summary.as_deref(),
        at_end,
        held: Some((server, claim)),
    };
    watch(handle, &job, sender, &events, options.grace.unwrap_or(GRACE), &mut conclusion)
}

/// Watches a started job to its end.
fn watch(
    handle: JobHandle,
    job: &Arc<Steered>,
    sender: Sender<Event>,
    events: &Receiver<Event>,
    grace: Duration,
    conclusion: &mut Conclusion<'_>,
) -> Result<ExitCode, Failure> {
    let waiter = thread::Builder::new().name("millstream-wait".to_owned());
    let (waited, begun) = (Arc::clone(job), Instant::now());
    let outcome = Arc::new(Mutex::new(None));
    let posted = Arc::clone(&outcome);
    waiter
        .spawn(move || {
            let event = match handle.wait() {
                Ok(summary) => {
                    waited.end.post(Ok((summary.state, last_path(&summary))));
                    let ended = ended(&summary);
                    *posted.lock().unwrap_or_else(PoisonError::into_inner) = Some(written(&summary));
                    Event::Ended(ended)
                }
                // Who had it abandoned says why.
                Err(error) if error.cause().is::<Abandoned>() => Event::Abandoned,
                Err(error) => {
                    waited.end.post(Err(fault(&error)));
                    Event::Ended(Ended::Failed(Failure { code: FAILED, ..failed(&error) }))
                }
            };
            // Nobody watches any more when the grace is over.
            let _ = sender.send(event);
        })
        .map_err(|error| Failure::failed("start thread", "process", error))?;
    let watched: Arc<dyn Watched> = Arc::clone(job) as _;
    let mut conclude = |ending| conclusion.finished(ending);
    let ended = supervise(&watched, events, grace, &mut conclude).unwrap_or_else(|failure| {
        // Clients that wait for the end are told that it does not come.
        job.end.post(Err(failure.fault()));
        Ended::Failed(failure)
    });
    let summary = outcome.lock().unwrap_or_else(PoisonError::into_inner).take();
    let summary = summary.unwrap_or_else(|| failed_summary(job, begun.elapsed()));
    conclusion.ended(&ended, &summary)
}

fn ended(summary: &millstream::Summary) -> Ended {
    match summary.state {
        JobState::Canceled => Ended::Canceled,
        _ => Ended::Stopped(last_path(summary)),
    }
}

/// The summary of a job that failed: what the engine shows of it.
fn failed_summary(job: &Steered, duration: Duration) -> Summary {
    let metrics = job.control.metrics();
    let counts = metrics.checkpoints.counts();
    written(&millstream::Summary {
        job: job.control.name().to_owned(),
        job_id: job.job_id.clone(),
        state: JobState::Failed,
        parallelism: usize::try_from(job.parallelism).unwrap_or(usize::MAX),
        records_in: metrics.records_in,
        records_out: metrics.records_out,
        records_replayed: metrics.records_replayed,
        records_late: metrics.records_late,
        records_rejected: metrics.records_rejected,
        checkpoints_completed: counts.completed,
        checkpoints_failed: counts.failed,
        restarts: metrics.restarts,
        restored_from: metrics.restored_from,
        last_checkpoint: metrics.last_checkpoint,
        duration,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> Home {
        Home::new(&Surroundings { current: "/here".into(), ..Surroundings::default() })
    }

    #[test]
    fn options_stand_for_keys_and_go_before_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("job.toml");
        std::fs::write(&file, "parallelism.default = 9\nexchange.ring-segments = 8\n").unwrap();
        let options = Run {
            parallelism: Some("3".to_owned()),
            allow_non_restored_state: true,
            claim_mode: Some("no-claim".to_owned()),
            defines: vec![("execution.checkpointing.interval".to_owned(), "1s".to_owned())],
            config: Some(file),
            ..Run::default()
        };
        let config = configuration(&options, &home()).unwrap();
        assert_eq!((config.pipeline.parallelism, config.exchange.ring_segments), (3, 8));
        assert!(config.recovery.ignore_unclaimed_state);
        assert_eq!(config.checkpointing.interval, Some(Duration::from_secs(1)));
        assert_eq!(config.checkpointing.dir, Some("/here/.millstream/checkpoints".into()));
    }

    #[test]
    fn a_directory_that_was_given_replaces_the_commands_own() {
        let given = ("state.checkpoints.dir".to_owned(), "/ck".to_owned());
        let options = Run { defines: vec![given], ..Run::default() };
        assert_eq!(configuration(&options, &home()).unwrap().checkpointing.dir, Some("/ck".into()));
    }

    #[test]
    fn ms_025_parallelism_is_refused_by_name_and_value() {
        for bad in ["0", "-1", "x", "32769"] {
            let options = Run { parallelism: Some(bad.to_owned()), ..Run::default() };
            let refused =
                configuration(&options, &home()).and_then(|config| Ok(config.validate()?)).unwrap_err();
            assert_eq!(refused.code, 2);
            assert!(refused.at.contains("parallelism.default") && refused.at.contains(bad), "{refused}");
        }
    }
}
