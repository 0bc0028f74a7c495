//! Reading and decoding alone: the time to read every sample of the recordings in a folder or file.
//!
//! ```sh
//! cargo run --release -p firefly-trainer --example decode -- FOLDER
//! ```

#![allow(clippy::print_stdout, reason = "an example prints its result")]

use std::error::Error;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use firefly_recordings::{find_recordings, open};

/// Samples per channel that are read at a time.
const BLOCK: usize = 1 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let path = PathBuf::from(std::env::args().nth(1).ok_or("give a recording or a folder of them")?);
    let files = if path.is_dir() { find_recordings(&path)? } else { vec![PathBuf::new()] };
    let start = Instant::now();
    let mut samples = 0;
    let mut block = Vec::new();
    for file in &files {
        let file = if path.is_dir() { path.join(file) } else { path.clone() };
        let mut reader = open(&file)?;
        while reader.read(&mut block, BLOCK)? > 0 {
            samples += black_box(&block).len();
            block.clear();
        }
    }
    println!("{samples} samples of {} files in {:.4} s", files.len(), start.elapsed().as_secs_f64());
    Ok(())
}
