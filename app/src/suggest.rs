//! Suggestions for misspelled names.

/// The candidate nearest to `name` by edit distance, if it is at most one edit away per three letters, rounded up.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = name.chars().count().div_ceil(3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The text `" (did you mean `x`?)"` for the nearest candidate; empty if none is near.
pub fn hint<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, candidates).map(|candidate| format!(" (did you mean `{candidate}`?)")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_near_names_are_suggested() {
        let names = ["segments", "hop", "window"];
        assert_eq!(nearest("segmets", names), Some("segments"));
        assert_eq!(nearest("widnow", names), Some("window"));
        assert_eq!(nearest("colour", names), None);
        assert_eq!(hint("hopp", names), " (did you mean `hop`?)");
        assert_eq!(hint("colour", names), "");
    }
}
