//! Checks of finished pages, for tests of what the programs write. A crate of its own, so that what only tests need
//! changes no feature of the programs' crates, which would be compiled twice.

/// Content security policy of a page: a browser may load nothing outside it.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'";

/// Bytes of a page at most.
pub const MAX_BYTES: usize = 600_000;

/// Asserts that a page is well-formed, stands alone, has nothing from outside among its scripts and is not too large.
///
/// # Panics
/// If it isn't.
pub fn assert_self_contained(page: &str) {
    let markup = markup(page);
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    if let Err(error) = roxmltree::Document::parse_with_options(&markup, options) {
        panic!("not well-formed: {error}\n{markup}");
    }
    let charts = specifications(page).len();
    assert_eq!(page.matches("<canvas").count(), charts, "each canvas has its specification");
    assert_eq!(page.matches("<script").count(), charts + usize::from(charts > 0), "no script but those of the page");
    for loader in ["http:", "https:", " src=", "href=", "url(", "@import", "fetch("] {
        assert!(!markup.contains(loader), "{loader}");
    }
    assert!(page.contains(POLICY), "the browser may load nothing");
    assert!(page.len() <= MAX_BYTES, "{} bytes", page.len());
}

/// The specifications of the page's charts.
///
/// # Panics
/// If one is not JSON.
pub fn specifications(page: &str) -> Vec<serde_json::Value> {
    let scripts = page.split(r#"<script type="application/json">"#).skip(1);
    let parse = |script: &str| serde_json::from_str(script.split("</script>").next().unwrap_or_default());
    scripts.map(|script| parse(script).unwrap_or_else(|error| panic!("{error}: {script}"))).collect()
}

/// The page without what is the same in every page: style, libraries and drawing script.
///
/// # Panics
/// If one of them doesn't end.
pub fn markup(page: &str) -> String {
    let mut markup = page.to_owned();
    for element in ["style", "script"] {
        let Some(start) = markup.find(&format!("<{element}>")) else { continue };
        let end = markup[start..].find(&format!("</{element}>")).expect("its end") + start;
        markup.replace_range(start + element.len() + 2..end, "");
    }
    markup
}
