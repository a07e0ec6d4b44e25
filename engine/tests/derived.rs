//! Records that a user derives, with this crate as the only dependency: as what flows, as key, as state and as result.
#![forbid(unsafe_code)]

use millstream::connector::{CollectSink, Collection};
use millstream::{Env, Record};

#[derive(Clone, Debug, Record)]
enum Event {
    Visit { site: Site, path: String },
    Tick,
    Leave(Site, u32),
}

#[derive(Clone, Debug, PartialEq, Record)]
struct Site {
    host: String,
    port: u16,
}

#[derive(Clone, Debug, Default, PartialEq, Record)]
struct Seen {
    paths: Vec<String>,
    left: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Record)]
struct Report<S> {
    site: S,
    seen: Seen,
}

fn site(host: &str) -> Site {
    Site { host: host.into(), port: 80 }
}

fn visit(host: &str, path: &str) -> Event {
    Event::Visit { site: site(host), path: path.into() }
}

#[test]
fn derived_records_flow_are_keys_and_are_state() {
    let events = vec![
        visit("a", "/1"),
        Event::Tick,
        visit("b", "/2"),
        Event::Leave(site("b"), 7),
        visit("a", "/3"),
        Event::Leave(site("c"), 8),
    ];
    let env = Env::new();
    let sink = CollectSink::new();
    let reports = sink.collected();
    env.source(Collection::new(events))
        .filter(|event| event != EventRef::Tick)
        .key_by::<Site>(|event| match *event {
            EventRef::Visit { site, .. } | EventRef::Leave(site, _) => site,
            EventRef::Tick => SiteRef { host: "", port: 0 },
        })
        .process::<Seen, Report<Site>>("seen", |_, event, seen, _| match event {
            EventRef::Visit { path, .. } => seen.paths.push(path.to_owned()),
            EventRef::Leave(_, at) => seen.left = Some(at),
            EventRef::Tick => (),
        })
        .on_end(|site, seen, out| out.emit(ReportRef { site, seen: seen.view() }))
        .parallelism(2)
        .sink(sink);
    env.execute("derived").unwrap();
    let mut reports = reports.take();
    reports.sort_by(|a, b| a.site.host.cmp(&b.site.host));
    let report = |host, paths: &[&str], left| Report {
        site: site(host),
        seen: Seen { paths: paths.iter().map(ToString::to_string).collect(), left },
    };
    assert_eq!(
        reports,
        [report("a", &["/1", "/3"], None), report("b", &["/2"], Some(7)), report("c", &[], Some(8))]
    );
}
