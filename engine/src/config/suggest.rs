//! "Did you mean": the known name that is closest to what was written.

/// Number of single-character insertions, deletions and replacements that turn one into the other.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// How far two words are apart: 0 equal, 1 nothing in common.
fn distance(a: &str, b: &str) -> f64 {
    let longest = a.chars().count().max(b.chars().count());
    if longest == 0 { 0.0 } else { edit_distance(a, b) as f64 / longest as f64 }
}

fn words(name: &str) -> Vec<String> {
    name.to_ascii_lowercase()
        .split(['.', '-', '_', ' '])
        .filter(|w| !w.is_empty())
        .map(str::to_owned)
        .collect()
}

/// How badly the written words are found among those of a known name: people drop prefixes, mix up `-`, `_` and `.`,
/// and misspell a word, so each written word looks for its best counterpart.
fn miss(written: &[String], known: &[String]) -> f64 {
    let best = |word: &String| known.iter().map(|k| distance(word, k)).fold(1.0, f64::min);
    written.iter().map(best).sum::<f64>() / written.len() as f64
}

/// The closest of the known names, if one is close.
pub fn closest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Beyond this a suggestion would be a guess.
    const MOST: f64 = 0.34;
    let parts = words(written);
    if parts.is_empty() {
        return None;
    }
    let lower = written.to_ascii_lowercase();
    let scored = known.into_iter().map(|name| (miss(&parts, &words(name)), distance(&lower, name), name));
    let best = scored.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)))?;
    (best.0.min(best.1) <= MOST).then_some(best.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distances_by_hand() {
        for (a, b, n) in
            [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("flaw", "lawn", 2), ("same", "same", 0)]
        {
            assert_eq!(edit_distance(a, b), n, "{a} {b}");
            assert_eq!(edit_distance(b, a), n, "{b} {a}");
        }
    }

    #[test]
    fn ms_082_a_misspelt_name_finds_the_one_that_was_meant() {
        let known =
            ["execution.checkpointing.interval", "execution.checkpointing.timeout", "parallelism.default"];
        for (written, meant) in [
            ("checkpoint_intervall", "execution.checkpointing.interval"),
            ("execution.checkpointing.intervall", "execution.checkpointing.interval"),
            ("checkpointing.timeot", "execution.checkpointing.timeout"),
            ("default.paralelism", "parallelism.default"),
        ] {
            assert_eq!(closest(written, known), Some(meant), "{written}");
        }
        assert_eq!(closest("colour", known), None);
        assert_eq!(closest("...", known), None);
    }
}
