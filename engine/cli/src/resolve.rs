//! Which running job is meant: by its id, an unambiguous beginning of an id, or its name.

/// Why no job could be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unresolved {
    /// Nothing fits.
    None,
    /// Several fit.
    Several(Vec<usize>),
}

/// Finds the job that `wanted` names among `(id, name)` pairs. A whole id or name goes before the beginning of an id.
pub fn resolve<'a>(
    wanted: &str,
    jobs: impl Iterator<Item = (&'a str, &'a str)> + Clone,
) -> Result<usize, Unresolved> {
    let fitting = |fits: &dyn Fn(&str, &str) -> bool| -> Vec<usize> {
        let found = jobs.clone().enumerate().filter(|(_, (id, name))| fits(id, name));
        found.map(|(index, _)| index).collect()
    };
    let id = wanted.to_ascii_lowercase();
    let exact = fitting(&|job, name| job == id || name == wanted);
    let found =
        if exact.is_empty() && !id.is_empty() { fitting(&|job, _| job.starts_with(&id)) } else { exact };
    match found.as_slice() {
        [] => Err(Unresolved::None),
        [one] => Ok(*one),
        _ => Err(Unresolved::Several(found)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOBS: [(&str, &str); 4] = [("aa11", "pass"), ("aa22", "count"), ("bb33", "aa"), ("cc44", "count")];

    #[test]
    fn a_job_is_found_by_id_beginning_of_its_id_or_name() {
        for (wanted, found) in [
            ("aa11", Ok(0)),
            ("AA11", Ok(0)),
            ("aa1", Ok(0)),
            ("b", Ok(2)),
            ("pass", Ok(0)),
            ("aa", Ok(2)),
            ("a", Err(Unresolved::Several(vec![0, 1]))),
            ("count", Err(Unresolved::Several(vec![1, 3]))),
            ("pas", Err(Unresolved::None)),
            ("", Err(Unresolved::None)),
        ] {
            assert_eq!(resolve(wanted, JOBS.into_iter()), found, "{wanted}");
        }
    }
}
