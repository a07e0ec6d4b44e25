use super::*;
use std::sync::mpsc::{RecvError, channel};

#[test]
fn pool_runs_work_on_named_threads() {
    let executor = RayonExecutor::new(1).unwrap();
    let (report, reports) = channel();
    executor.spawn(Box::new(move || {
        let _ = report.send(std::thread::current().name().map(str::to_owned));
    }));
    assert_eq!(reports.recv(), Ok(Some("millstream-background-0".to_owned())));
}

/// MS-070 for background work: the one who waits learns of it, the host and the pool live on.
#[test]
fn panic_ends_the_work_but_not_the_pool() {
    let executor = RayonExecutor::new(1).unwrap();
    for _ in 0..3 {
        let (report, reports) = channel::<()>();
        executor.spawn(Box::new(move || {
            let _report = report;
            panic!("planned");
        }));
        assert_eq!(reports.recv(), Err(RecvError));
    }
    let (report, reports) = channel();
    executor.spawn(Box::new(move || report.send(7).unwrap_or(())));
    assert_eq!(reports.recv(), Ok(7));
}

#[test]
fn one_thread_serves_in_order() {
    let executor = RayonExecutor::new(1).unwrap();
    let (report, reports) = channel();
    for n in 0..100 {
        let report = report.clone();
        executor.spawn(Box::new(move || report.send(n).unwrap_or(())));
    }
    drop(report);
    assert_eq!(reports.iter().collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
}

#[test]
fn work_taken_is_finished_after_the_executor_is_dropped() {
    let (report, reports) = channel();
    let executor = RayonExecutor::new(1).unwrap();
    for n in 0..10 {
        let report = report.clone();
        executor.spawn(Box::new(move || report.send(n).unwrap_or(())));
    }
    drop((executor, report));
    assert_eq!(reports.iter().count(), 10);
}

#[test]
fn steps_run_when_chosen_and_in_the_order_chosen() {
    let executor = StepExecutor::new();
    let (report, reports) = channel();
    for n in 0..4 {
        let (report, again) = (report.clone(), executor.clone());
        executor.spawn(Box::new(move || {
            report.send(n).unwrap();
            if n == 2 {
                again.spawn(Box::new(move || report.send(20).unwrap()));
            }
        }));
    }
    assert!(reports.try_recv().is_err());
    assert!(executor.run(2));
    assert!(executor.run(0));
    assert!(!executor.run(3));
    executor.run_all();
    assert!(executor.is_empty());
    assert_eq!(reports.try_iter().collect::<Vec<_>>(), [2, 0, 1, 3, 20]);
}

#[test]
fn steps_are_lost_with_their_process_and_a_panic_is_not_the_simulators() {
    let executor = StepExecutor::new();
    let (report, reports) = channel::<()>();
    executor.spawn(Box::new(|| panic!("planned")));
    executor.spawn(Box::new(move || drop(report)));
    assert!(executor.run(0));
    executor.clear();
    assert_eq!((executor.len(), reports.recv()), (0, Err(RecvError)));
}
