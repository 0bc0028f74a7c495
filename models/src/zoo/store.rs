//! Saved models: one safetensors file of parameters, whose metadata describes the model.

use std::fs;
use std::path::Path;

use burn::tensor::Device;
use firefly_framework::files::write_atomically;
use safetensors::SafeTensors;
use serde::{Deserialize, Serialize};

use super::error::ZooError;
use super::families::{FAMILIES, ZooModel};
use super::settings::Settings;
use crate::checksum::is_intact;
use crate::weights::ParameterMismatch;

/// Version of the file's layout; files of another version are refused.
pub const WEIGHTS_FORMAT: u32 = 1;

/// Name of the metadata entry that describes the model.
const HEADER: &str = "firefly";

#[derive(Serialize, Deserialize)]
struct ModelHeader {
    format: u32,
    family: String,
    settings: Settings,
}

impl ZooModel {
    /// Writes the model to the safetensors file `path`, in place of a file that is there: parameters under their names
    /// in the module; family, settings and a [checksum](crate::checksum) in the metadata. The file appears as a whole.
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use firefly_models::zoo::{self, Settings};
    ///
    /// let (folder, device) = (tempfile::tempdir()?, Device::flex());
    /// let path = folder.path().join("model.safetensors");
    /// let model = zoo::create("learned_welch_peaks_tiny", &Settings::new(), &device)?;
    /// model.save(&path)?;
    /// assert_eq!(zoo::load(&path, &device)?.settings(), model.settings());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ZooError::File`] if the file can't be written.
    pub fn save(&self, path: &Path) -> Result<(), ZooError> {
        let bytes = self.bytes(path)?;
        write_atomically(path, &bytes).map_err(|error| ZooError::File(path.into(), error))
    }

    /// The bytes of the file that [`save`](Self::save) writes. Equal models have equal bytes.
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use firefly_models::zoo;
    ///
    /// let device = Device::flex();
    /// let bytes = || zoo::pretrained("butterfly_dft_8", &device)?.to_bytes();
    /// assert_eq!(bytes()?, bytes()?);
    /// # Ok::<(), zoo::ZooError>(())
    /// ```
    ///
    /// # Errors
    /// [`ZooError::Weights`] if the device fails.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ZooError> {
        self.bytes(self.family().name.as_ref())
    }

    fn bytes(&self, path: &Path) -> Result<Vec<u8>, ZooError> {
        let (family, settings) = (self.family().name.into(), self.settings());
        let header = ModelHeader { format: WEIGHTS_FORMAT, family, settings };
        let format = |error: serde_json::Error| ZooError::Format(path.into(), error.to_string());
        let header = serde_json::to_string(&header).map_err(format)?;
        self.serialize((HEADER, &header)).map_err(|error| ZooError::Weights(path.into(), error))
    }
}

/// The model that [`ZooModel::save`] wrote to `path`, on `device`, as in its example.
///
/// # Errors
/// [`ZooError`] for a file that can't be read, is damaged, of another version, or whose parameters are not those of
/// its settings.
pub fn load(path: &Path, device: &Device) -> Result<ZooModel, ZooError> {
    let bytes = fs::read(path).map_err(|error| ZooError::File(path.into(), error))?;
    from_bytes(path, bytes, device)
}

/// The model of the bytes that [`ZooModel::to_bytes`] returns, on `device`; errors name `path`.
///
/// ```
/// use std::path::Path;
///
/// use burn::tensor::Device;
/// use firefly_models::zoo;
///
/// let (path, device) = (Path::new("model.safetensors"), Device::flex());
/// let bytes = zoo::pretrained("butterfly_dft_8", &device)?.to_bytes()?;
/// assert_eq!(zoo::from_bytes(path, bytes, &device)?.family().name, "butterfly");
/// assert!(zoo::from_bytes(path, b"text".to_vec(), &device).unwrap_err().to_string().contains("model.safetensors"));
/// # Ok::<(), zoo::ZooError>(())
/// ```
///
/// # Errors
/// As [`load`], but for the file.
pub fn from_bytes(path: &Path, bytes: Vec<u8>, device: &Device) -> Result<ZooModel, ZooError> {
    let refused = |reason: String| ZooError::Format(path.into(), reason);
    let (_, metadata) =
        SafeTensors::read_metadata(&bytes).map_err(|error| ZooError::Damaged(path.into(), error.to_string()))?;
    let header = metadata.metadata().as_ref().and_then(|entries| entries.get(HEADER));
    let header = header.ok_or_else(|| refused(format!("its metadata has no entry `{HEADER}`")))?;
    let header: ModelHeader = serde_json::from_str(header).map_err(|error| refused(error.to_string()))?;
    if header.format != WEIGHTS_FORMAT {
        return Err(refused(format!("it has format {}", header.format)));
    }
    if !is_intact(&bytes) {
        return Err(ZooError::OtherModel(path.into(), ParameterMismatch::Checksum));
    }
    let family = FAMILIES.iter().find(|family| family.name == header.family);
    let family = family.ok_or_else(|| refused(format!("there is no family `{}`", header.family)))?;
    (family.restore)(path, &header.settings, bytes, device)
}
