//! The families of the zoo: a line for each.

use burn::module::Module;
use burn::tensor::Device;
use burn_store::SafetensorsStoreError;
use firefly_framework::graph::{AnyTensor, Graph, GraphError, Input, capture};
use firefly_framework::onnx::{self, Description};
use firefly_ops::ArgumentError;

use super::card::{FamilyCard, Signature};
use super::error::ZooError;
use super::family::{Family, FamilyEntry};
use super::settings::Settings;
use crate::{
    Butterfly, FNet, Fits, Fno1d, Fno2d, Fno3d, GfNet, Hyena, LearnedWelchPeaks, LogMel, LongConv, MelClassifier, Mfcc,
    S4d, SpectralDenoiser, WelchPeaks, weights,
};

macro_rules! families {
    ($($family:ident),* $(,)?) => {
        /// Model of any family: a Burn module, so that it trains with any optimiser and is saved with any store.
        ///
        /// Tensors go in and out as lists of [`AnyTensor`]; a model whose type is known is the variant's field.
        ///
        /// ```
        /// use burn::tensor::{Device, Tensor};
        /// use firefly_models::WelchPeaksConfig;
        /// use firefly_models::zoo::ZooModel;
        ///
        /// let device = Device::flex();
        /// let model = ZooModel::from(WelchPeaksConfig::new().with_n_fft(64).with_k(3).init(&device));
        /// let outputs = model.forward(vec![Tensor::<2>::ones([5, 96], &device).into()]); // bins and power
        /// assert_eq!((outputs.len(), outputs[1].dims()), (2, vec![5, 3]));
        /// ```
        #[derive(Module, Debug)]
        #[allow(clippy::large_enum_variant, reason = "a model is one value among tensors")]
        pub enum ZooModel {
            $(
                #[doc = concat!("The model [`", stringify!($family), "`](crate::", stringify!($family), ").")]
                $family($family),
            )*
        }

        $(
            impl From<$family> for ZooModel {
                fn from(model: $family) -> Self {
                    Self::$family(model)
                }
            }
        )*

        impl ZooModel {
            /// Card of the model's family.
            pub fn family(&self) -> FamilyCard {
                match self { $(Self::$family(_) => $family::CARD),* }
            }

            /// Every setting of the model's configuration.
            pub fn settings(&self) -> Settings {
                match self { $(Self::$family(model) => Settings::of(&Family::config(model))),* }
            }

            /// Declared inputs of a batch of `batch`: names, shapes and types.
            pub fn inputs(&self, batch: usize) -> Vec<Input> {
                match self { $(Self::$family(model) => Family::inputs(model, batch)),* }
            }

            /// Outputs of `inputs`, in the order of the card.
            ///
            /// # Errors
            /// [`ArgumentError`] for inputs of another number, rank, kind or shape than the card says.
            pub fn try_forward(&self, inputs: Vec<AnyTensor>) -> Result<Vec<AnyTensor>, ArgumentError> {
                match self { $(Self::$family(model) => Family::apply(model, inputs)),* }
            }

            /// Parameters as a safetensors file with an entry of metadata.
            pub(super) fn serialize(&self, entry: (&str, &str)) -> Result<Vec<u8>, SafetensorsStoreError> {
                match self { $(Self::$family(model) => weights::serialize(model, entry)),* }
            }
        }

        /// Every family, in the order of their lines.
        pub(super) static FAMILIES: &[FamilyEntry<ZooModel>] = &[$(FamilyEntry::of::<$family>()),*];
    };
}

families! {
    WelchPeaks,
    LearnedWelchPeaks,
    Butterfly,
    Fits,
    LogMel,
    Mfcc,
    MelClassifier,
    SpectralDenoiser,

    Fno1d,
    Fno2d,
    Fno3d,
    LongConv,
    S4d,
    Hyena,
    FNet,
    GfNet,
}

impl ZooModel {
    or_panic! { forward = try_forward(inputs: Vec<AnyTensor>) -> Vec<AnyTensor> }

    /// Graph of the model on a batch of `batch`, recorded without running; for [`Rewriter`] and [`Replay`].
    ///
    /// [`Rewriter`]: firefly_framework::rewrite::Rewriter
    /// [`Replay`]: firefly_framework::graph::Replay
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use firefly_models::zoo::{self, Settings};
    ///
    /// let model = zoo::create("welch_peaks", &Settings::new(), &Device::flex())?;
    /// let graph = model.capture(1_000)?;
    /// assert_eq!((graph.inputs().len(), graph.outputs().len()), (1, 2));
    /// # Ok::<(), zoo::ZooError>(())
    /// ```
    ///
    /// # Errors
    /// [`ZooError::Graph`] for a model that can't be recorded: its card says why.
    pub fn capture(&self, batch: usize) -> Result<Graph, ZooError> {
        Ok(self.graph(batch)?)
    }

    fn graph(&self, batch: usize) -> Result<Graph, GraphError> {
        // Without gradients, as the model is used.
        let model = self.valid();
        capture(&self.inputs(batch), |inputs: Vec<AnyTensor>, device: &Device| {
            model.to_device(device).try_forward(inputs)
        })
    }

    /// The model as an ONNX file of any batch, or of one if its operations depend on the batch. Inputs and outputs have
    /// the names of the card, an output that is called like an input with `output_` before it; the metadata has the
    /// settings.
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use firefly_models::zoo;
    ///
    /// let model = zoo::pretrained("mel_classifier_digits", &Device::flex())?.to_onnx()?;
    /// assert_eq!((model.inputs[0].shape.join(" "), model.fixed_batch), ("batch 6000".into(), None));
    /// # Ok::<(), zoo::ZooError>(())
    /// ```
    ///
    /// # Errors
    /// [`ZooError::Onnx`] for a model that can't be captured, and one with an operation that has no translation.
    pub fn to_onnx(&self) -> Result<onnx::Model, ZooError> {
        let card = self.family();
        let text = |signature: &Signature| format!("{}: {}", signature.shape, signature.meaning);
        let name = |name: &str| {
            let prefix = if card.inputs.iter().any(|input| input.name == name) { "output_" } else { "" };
            format!("{prefix}{name}")
        };
        let settings = serde_json::to_string(&self.settings()).unwrap_or_default();
        let description = Description {
            name: card.name.into(),
            text: card.summary.into(),
            inputs: card.inputs.iter().map(text).collect(),
            outputs: card.outputs.iter().map(|output| (name(output.name), text(output))).collect(),
            metadata: vec![("firefly.settings".into(), settings)],
        };
        Ok(onnx::export(|batch| self.graph(batch), 1, &description)?)
    }
}
