//! The BM25 formula; the ranking chooses `k1`.
//! Hand-written because it is one formula, which two rankings weight differently; crates for it bring their own
//! index.

const B: f64 = 0.75;

/// Returns the inverse document frequency of a word that `with` of `total` passages have.
pub(crate) fn idf(total: u32, with: u32) -> f64 {
    let (total, with) = (f64::from(total), f64::from(with));
    (1.0 + (total - with + 0.5) / (with + 0.5)).ln()
}

/// Returns the score of a word that occurs `count` times in a passage of `length` words. The greater `k1`, the more
/// repetitions count.
pub(crate) fn weight(k1: f64, idf: f64, count: f64, length: u32, mean_length: f64) -> f64 {
    let relative = if mean_length > 0.0 {
        f64::from(length) / mean_length
    } else {
        1.0
    };
    idf * count * (k1 + 1.0) / (count + k1 * (1.0 - B + B * relative))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_near(got: f64, expected: f64) {
        assert!((got - expected).abs() < 1e-4, "{got} is not {expected}");
    }

    /// Calculated by hand for three passages of 4, 6 and 2 words (mean 4), one of which has the word.
    #[test]
    fn bm25_agrees_with_a_calculation_by_hand() {
        // ln(1 + (3 - 1 + 0.5) / (1 + 0.5)) = ln(2.66667)
        assert_near(idf(3, 1), 0.98083);
        // ln(1 + 0.5 / 3.5)
        assert_near(idf(3, 3), 0.13353);
        // count 2, length 6: 0.98083 * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 1.5)) = 4.31565 / 3.65
        assert_near(weight(1.2, idf(3, 1), 2.0, 6, 4.0), 1.18237);
        // count 1, length 4: 0.98083 * 2.2 / (1 + 1.2)
        assert_near(weight(1.2, idf(3, 1), 1.0, 4, 4.0), 0.98083);
        // count 1, length 2: 0.98083 * 2.2 / (1 + 1.2 * (0.25 + 0.375)) = 2.15783 / 1.75
        assert_near(weight(1.2, idf(3, 1), 1.0, 2, 4.0), 1.23304);
    }

    #[test]
    fn a_word_that_does_not_occur_has_no_weight() {
        assert_near(weight(1.2, idf(3, 1), 0.0, 4, 4.0), 0.0);
        assert_near(weight(1.2, 1.0, 1.0, 0, 0.0), 1.0);
    }
}
