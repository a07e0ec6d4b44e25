//! Contestants in alternation, and by which factor the first of them is faster than each.

/// Millions of records a second, or why there are none.
pub type Rate = Result<f64, String>;

/// A contestant: its name, and what runs it.
pub type Contestant<'a> = (&'a str, Box<dyn Fn() -> Rate + 'a>);

/// Runs all of them in each round, the first one first, and prints medians.
///
/// # Errors
/// What a contestant reported.
pub fn compare(work: &str, rounds: usize, contestants: &[Contestant<'_>]) -> Result<(), String> {
    let mut rates = vec![Vec::new(); contestants.len()];
    for _ in 0..rounds.max(1) {
        for ((name, run), rates) in contestants.iter().zip(&mut rates) {
            rates.push(run().map_err(|error| format!("{name}: {error}"))?);
        }
    }
    let own = rates[0].clone();
    for ((name, _), rates) in contestants.iter().zip(rates) {
        let factors = own.iter().zip(&rates).map(|(own, other)| own / other).collect();
        println!("{work:<16} {name:<12} {:>9.3} M/s   factor {:>7.2}", median(rates), median(factors));
    }
    Ok(())
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_one_in_the_middle() {
        assert_eq!((median(vec![3.0]), median(vec![5.0, 1.0, 2.0])), (3.0, 2.0));
    }
}
