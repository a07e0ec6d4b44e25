//! Groups restored several at once: each is read, checked and put into memory of its own by one of several threads.

use super::loading::{Loading, fill, survey};
use super::memory::SEGMENT;
use super::pages::Pages;
use super::restoring::{Form, Restoring};
use crate::error::StateError;
use crate::key_group::KeyGroup;
use crate::keyed::RestoreError;
use crate::snapshot::Groups;
use millstream_io::executor::Executor;
use millstream_io::scratch::{Cutting, Piece};
use parking_lot::Mutex;

/// Takes a group's entries.
pub(crate) trait Enter: FnMut(KeyGroup, u64, &[u8]) -> Result<(), RestoreError> + Send {}

impl<F: FnMut(KeyGroup, u64, &[u8]) -> Result<(), RestoreError> + Send> Enter for F {}

/// Why a group is not restored.
pub(crate) enum Failure {
    /// It cannot be read.
    Unread(StateError),
    /// A part of it, by its index, is not what it should be.
    Refused(usize, RestoreError),
    /// A part of it cannot be loaded.
    Unloaded(usize, Loading),
}

/// What the threads share.
struct Desk<'a, E> {
    restoring: &'a mut Restoring,
    cutting: Cutting<'a>,
    enter: E,
}

/// Memory with a group's pages, and of each segment those that are there.
struct Filled {
    index: usize,
    masks: Vec<u16>,
    piece: Piece,
}

/// Restores groups: those in pages at once, those in entries one after another through `enter`.
///
/// # Errors
/// The index of a group, and why it is not restored.
pub(crate) fn restore<E: Enter>(
    pages: &mut Pages,
    restoring: &mut Restoring,
    groups: &Groups<'_>,
    executor: &dyn Executor,
    enter: E,
) -> Result<(), (usize, Failure)> {
    let desk = Mutex::new(Desk { restoring, cutting: pages.cut(), enter });
    let buffers = Mutex::new(Vec::new());
    let results = executor.map(groups.len(), |nth| {
        let mut own = buffers.lock().pop().unwrap_or_default();
        let result = restore_one(groups, nth, &mut own, &desk);
        buffers.lock().push(own);
        result
    });
    let (mut all, mut failed) = (Vec::new(), None);
    for (nth, result) in results.into_iter().enumerate() {
        match result {
            Ok(filled) => all.extend(filled),
            Err(failure) => drop(failed.get_or_insert((nth, failure))),
        }
    }
    all.sort_unstable_by_key(|filled: &Filled| filled.piece.at());
    let (noted, pieces): (Vec<_>, Vec<_>) =
        all.into_iter().map(|filled| ((filled.index, filled.masks), filled.piece)).unzip();
    desk.into_inner().cutting.join(pieces);
    noted.iter().for_each(|(index, masks)| pages.add_filled(*index, masks));
    failed.map_or(Ok(()), Err)
}

fn restore_one<E: Enter>(
    groups: &Groups<'_>,
    nth: usize,
    buffers: &mut Vec<Vec<u8>>,
    desk: &Mutex<Desk<'_, E>>,
) -> Result<Option<Filled>, Failure> {
    let group = groups.group(nth);
    let parts = groups.read(nth, buffers).map_err(Failure::Unread)?;
    let mut images = Vec::new();
    {
        let Desk { restoring, enter, .. } = &mut *desk.lock();
        if restoring.has_begun(group) {
            return Err(Failure::Refused(0, Restoring::out_of_turn(group)));
        }
        for (at, part) in parts.iter().enumerate() {
            let refused = |error| Failure::Refused(at, error);
            match restoring.part(group, part.entries, part.bytes).map_err(refused)? {
                None => {}
                Some(Form::Entries(bytes)) => enter(group, part.entries, bytes).map_err(refused)?,
                Some(Form::Pages(bytes)) => images.push(bytes),
            }
        }
    }
    let filled = if images.is_empty() { None } else { Some(load(group, &images, desk)?) };
    groups.restored(nth);
    Ok(filled)
}

fn load<E>(group: KeyGroup, images: &[&[u8]], desk: &Mutex<Desk<'_, E>>) -> Result<Filled, Failure> {
    // A group whose parts are not all pages was refused: so indices are those of its parts.
    let masks = survey(images).map_err(|(at, loading)| Failure::Unloaded(at, loading))?;
    let (index, piece) = {
        let mut desk = desk.lock();
        (desk.restoring.index(group), desk.cutting.next(masks.len() * SEGMENT))
    };
    let mut piece = piece.map_err(|error| Failure::Unloaded(0, error.into()))?;
    fill(&mut piece, images);
    Ok(Filled { index, masks, piece })
}
