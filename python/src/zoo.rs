//! Models of the zoo. Cards and settings are JSON.

use std::path::{Path, PathBuf};

use burn::module::Module;
use burn::tensor::Device;
use firefly_app::device::DeviceName;
use firefly_framework::graph::AnyTensor;
use firefly_models::zoo::{self, Settings, ZooModel};
use firefly_ops::ArgumentError;
use firefly_trainer::run_folder::RunFolder;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Serialize;

use crate::array::own;
use crate::device::open;
use crate::error::{os_error, value_error, zoo_error};
use crate::rows::Rows;
use crate::threads::run;

/// Names of the models that contain a text.
#[pyfunction]
pub fn list_models(filter: &str) -> Vec<&'static str> {
    zoo::list(filter)
}

/// Names of the models with trained weights.
#[pyfunction]
pub fn list_pretrained() -> Vec<&'static str> {
    zoo::list_pretrained()
}

/// Card of a model.
#[pyfunction]
pub fn card(name: &str) -> PyResult<String> {
    json(&zoo::card(name).map_err(zoo_error)?)
}

/// Untrained model with the given settings.
#[pyfunction]
pub fn create(py: Python<'_>, name: String, settings: &str, device: &str) -> PyResult<Model> {
    let settings: Settings = serde_json::from_str(settings).map_err(value_error)?;
    Model::open(py, device, move |device| zoo::create(&name, &settings, device).map_err(zoo_error))
}

/// Model with the trained weights that ship with the package.
#[pyfunction]
pub fn pretrained(py: Python<'_>, name: String, device: &str) -> PyResult<Model> {
    Model::open(py, device, move |device| zoo::pretrained(&name, device).map_err(zoo_error))
}

/// Model that `Model.save` wrote.
#[pyfunction]
pub fn load(py: Python<'_>, path: PathBuf, device: &str) -> PyResult<Model> {
    Model::open(py, device, move |device| zoo::load(&path, device).map_err(zoo_error))
}

/// Trained model of a finished run.
#[pyfunction]
pub fn load_run(py: Python<'_>, folder: PathBuf, device: &str) -> PyResult<Model> {
    let run = RunFolder::new(folder);
    run.task().map_err(os_error)?;
    Model::open(py, device, move |device| zoo::load(&run.model().join("model.safetensors"), device).map_err(zoo_error))
}

/// Model of the bytes that `Model.to_bytes` returned.
#[pyfunction]
pub fn from_bytes(py: Python<'_>, weights: Vec<u8>, device: &str) -> PyResult<Model> {
    Model::open(py, device, move |device| zoo::from_bytes(Path::new("bytes"), weights, device).map_err(zoo_error))
}

/// A model of the zoo on a device.
#[pyclass(frozen)]
pub struct Model {
    model: ZooModel,
    device: Device,
}

impl Model {
    fn open(
        py: Python<'_>,
        device: &str,
        make: impl FnOnce(&Device) -> PyResult<ZooModel> + Send + 'static,
    ) -> PyResult<Self> {
        let device = open(device)?;
        run(py, move || make(&device).map(|model| Self { model, device }))?
    }
}

#[pymethods]
impl Model {
    /// Outputs of the inputs, in the order of the card.
    fn predict<'py>(&self, py: Python<'py>, inputs: Vec<Bound<'py, PyAny>>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let inputs = inputs.iter().map(|input| Rows::on(input, self.device.clone()));
        let inputs = inputs.collect::<PyResult<Vec<_>>>()?;
        let model = self.model.clone();
        let outputs = run(py, move || {
            let outputs = model.try_forward(inputs.into_iter().map(Rows::any_tensor).collect())?;
            Ok::<Vec<_>, ArgumentError>(outputs.into_iter().map(AnyTensor::into_data).collect())
        })?;
        outputs.map_err(value_error)?.into_iter().map(|output| own(py, output)).collect()
    }

    /// Name of the family.
    fn family(&self) -> &'static str {
        self.model.family().name
    }

    /// Names of the outputs.
    fn outputs(&self) -> Vec<&'static str> {
        self.model.family().outputs.iter().map(|output| output.name).collect()
    }

    /// Shapes of the inputs for a batch of one.
    fn inputs(&self) -> Vec<Vec<usize>> {
        self.model.inputs(1).into_iter().map(|input| input.shape).collect()
    }

    /// Whether each input is of floats, or else of integers.
    fn float_inputs(&self) -> Vec<bool> {
        self.model.inputs(1).iter().map(|input| input.dtype.is_float()).collect()
    }

    /// Every setting of the configuration.
    fn settings(&self) -> PyResult<String> {
        json(&self.model.settings())
    }

    /// Number of trainable values.
    fn parameters(&self) -> usize {
        self.model.num_params()
    }

    /// Writes the model to a safetensors file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let model = self.model.clone();
        run(py, move || model.save(&path))?.map_err(zoo_error)
    }

    /// The bytes of the file that `save` writes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let model = self.model.clone();
        let bytes = run(py, move || model.to_bytes())?.map_err(zoo_error)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Name of the device.
    fn device(&self) -> String {
        DeviceName::of(&self.device).to_string()
    }
}

fn json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyValueError::new_err(error.to_string()))
}
