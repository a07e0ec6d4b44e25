use super::*;
use parking_lot::Mutex;
use std::sync::Barrier;
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

/// Every number once, whoever runs them, and nothing is under way any more on return.
#[test]
fn each_number_is_called_once_before_it_returns() {
    let (pool, inline, step) = (RayonExecutor::new(2).unwrap(), InlineExecutor, StepExecutor::new());
    let executors: [&dyn Executor; 3] = [&pool, &inline, &step];
    assert_eq!(executors.map(Executor::width), [3, 1, 1]);
    for executor in executors {
        for count in [0, 1, 2, 1000] {
            let calls: Vec<_> = (0..count).map(|_| Mutex::new(0)).collect();
            executor.each(count, &|n| *calls[n].lock() += 1);
            assert!(calls.iter().all(|calls| *calls.lock() == 1), "{count}");
        }
    }
    assert!(step.is_empty());
}

/// Two calls that wait for each other come to an end only where both go on at once, the caller's thread being one of two.
#[test]
fn a_pool_and_the_caller_work_at_once() {
    let pool = RayonExecutor::new(1).unwrap();
    let both = Barrier::new(2);
    let threads = Mutex::new(Vec::new());
    pool.each(2, &|_| {
        both.wait();
        threads.lock().push(std::thread::current().id());
    });
    let threads = threads.into_inner();
    assert!(threads.contains(&std::thread::current().id()) && threads[0] != threads[1]);
}

#[test]
fn a_panic_of_one_of_them_is_passed_on_and_the_pool_lives() {
    let pool = RayonExecutor::new(1).unwrap();
    let failed = catch_unwind(AssertUnwindSafe(|| {
        pool.each(100, &|n| assert!(n != 7, "planned"));
    }));
    assert!(failed.is_err());
    let calls = Mutex::new(0);
    pool.each(100, &|_| *calls.lock() += 1);
    assert_eq!(*calls.lock(), 100);
}
