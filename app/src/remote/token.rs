//! The token that a server shares with its clients: from a file or the environment, never from the command line, which
//! every user of a machine can read.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Variable of the environment that holds the token.
pub const TOKEN: &str = "FIREFLY_TOKEN";
/// Variable of the environment that holds the path of a file with the token.
pub const FILE: &str = "FIREFLY_TOKEN_FILE";
/// Characters of a token at least.
pub const MIN_LENGTH: usize = 16;

/// Reason why there is no token.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages describe the variants")]
pub enum TokenError {
    #[error("the file of the token, {}: {reason}", path.display())]
    File { path: PathBuf, reason: String },
    #[error("the token in {origin} has {length} characters, but must have at least {MIN_LENGTH}: openssl rand -hex 32")]
    TooShort { origin: String, length: usize },
    #[error("the token in {0} is not one line of printable ASCII characters")]
    Characters(String),
}

/// Token of at least [`MIN_LENGTH`] printable ASCII characters. Its debug text does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// The token in a file, without the white space around it.
    ///
    /// # Errors
    /// If the file can't be read, or holds no token.
    pub fn from_file(path: &Path) -> Result<Self, TokenError> {
        let text = fs::read_to_string(path)
            .map_err(|error| TokenError::File { path: path.into(), reason: error.to_string() })?;
        Self::new(&text, &path.display().to_string())
    }

    /// The token of the environment: that of [`TOKEN`], or else of the file that [`FILE`] names. `None` if both are
    /// unset or empty.
    ///
    /// # Errors
    /// If the file can't be read, or there is no token in it.
    pub fn from_environment() -> Result<Option<Self>, TokenError> {
        let given = |name: &str| std::env::var_os(name).filter(|value: &OsString| !value.is_empty());
        match (given(TOKEN), given(FILE)) {
            (Some(token), _) => Self::new(&token.to_string_lossy(), TOKEN).map(Some),
            (None, Some(path)) => Self::from_file(Path::new(&path)).map(Some),
            (None, None) => Ok(None),
        }
    }

    fn new(text: &str, origin: &str) -> Result<Self, TokenError> {
        let token = text.trim();
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenError::Characters(origin.into()));
        }
        if token.len() < MIN_LENGTH {
            return Err(TokenError::TooShort { origin: origin.into(), length: token.len() });
        }
        Ok(Self(token.into()))
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_one_line_of_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        fs::write(&path, "0123456789abcdef\n").unwrap();
        let token = Token::from_file(&path).unwrap();
        assert_eq!((token.text(), format!("{token:?}").as_str()), ("0123456789abcdef", "Token(..)"));

        let refused = |text: &str| {
            fs::write(&path, text).unwrap();
            Token::from_file(&path).unwrap_err()
        };
        assert!(matches!(refused("0123456789abcde\n"), TokenError::TooShort { length: 15, .. }));
        assert!(matches!(refused("\n"), TokenError::TooShort { length: 0, .. }));
        assert!(matches!(refused("0123456789\nabcdef0123"), TokenError::Characters(_)));
        assert!(matches!(Token::from_file(folder.path()).unwrap_err(), TokenError::File { .. }));
    }
}
