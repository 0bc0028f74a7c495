//! Compiled kernels of GPUs, kept from one process to the next.

use std::path::Path;
use std::sync::Once;

use cubecl_environment::records::RecordLevel;
use cubecl_runtime::config::cache::CacheConfig;
use cubecl_runtime::config::{CubeClRuntimeConfig, RuntimeConfig};

/// Makes CubeCL keep compiled kernels in the folder `cubecl` of the user's cache folder (`~/.cache` on Linux). A file that
/// configures CubeCL decides instead, if there is one.
///
/// To be called before a GPU is opened; later calls change nothing. A folder that can't be written costs a warning and the
/// time to compile. Several processes of a machine may use it at once.
pub fn keep_kernels() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let folder = std::env::current_dir().unwrap_or_default();
        if !is_configured(&folder) {
            CubeClRuntimeConfig::try_set(keeping(CubeClRuntimeConfig::default().override_from_env()));
        }
    });
}

/// Whether CubeCL finds a file of its configuration from a folder on: there, or in one above.
fn is_configured(folder: &Path) -> bool {
    let sections = CubeClRuntimeConfig::section_file_names().iter().map(|(name, _)| name);
    let names: Vec<_> = CubeClRuntimeConfig::file_names().iter().chain(sections).collect();
    folder.ancestors().any(|folder| names.iter().any(|name| folder.join(name).exists()))
}

fn keeping(mut config: CubeClRuntimeConfig) -> CubeClRuntimeConfig {
    // Kernels are kept per build of the program. One without an identity could be given those of another.
    config.compilation.cache = buildid::build_id().is_some();
    config.environment.path = CacheConfig::Global;
    // No journal of processes and of what they compiled.
    config.environment.records.level = RecordLevel::Off;
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_kept_unless_a_file_configures_cubecl() {
        let kept = keeping(CubeClRuntimeConfig::default());
        assert_eq!(kept.compilation.cache, buildid::build_id().is_some());
        assert!(matches!(kept.environment.path, CacheConfig::Global));

        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        assert!(!is_configured(&inner));
        std::fs::write(folder.path().join("burn.toml"), "").unwrap();
        assert!(is_configured(&inner));
    }

    #[test]
    fn the_configuration_is_set_before_a_device_is_opened() {
        keep_kernels();
        assert_eq!(CubeClRuntimeConfig::get().compilation.cache, buildid::build_id().is_some());
    }
}
