//! Random starts of a model that are trained side by side.

use burn::module::Param;

use crate::tasks::prelude::*;

/// Random starts of a model, some of which may have been dropped.
#[derive(Module, Debug)]
pub struct Starts {
    models: Vec<ZooModel>,
    /// 1 for each start that is trained, 0 for those that were dropped; none for a single start. It is a parameter so
    /// that checkpoints hold it.
    trained: Option<Param<Tensor<1>>>,
}

impl Starts {
    /// Starts of which none is dropped.
    pub fn new(models: Vec<ZooModel>, device: &Device) -> Self {
        let trained = || Param::from_tensor(Tensor::ones([models.len()], device));
        Self { trained: (models.len() > 1).then(trained), models }
    }

    /// A single model.
    pub fn single(model: ZooModel) -> Self {
        Self { models: vec![model], trained: None }
    }

    /// The starts that are trained. Reads which ones they are from the device.
    pub fn trained(&self) -> Vec<&ZooModel> {
        self.places().into_iter().map(|place| &self.models[place]).collect()
    }

    /// Device of the starts.
    pub fn device(&self) -> Device {
        self.devices().into_iter().next().unwrap_or_default()
    }

    fn places(&self) -> Vec<usize> {
        match &self.trained {
            None => vec![0],
            Some(trained) => {
                let trained: Vec<f32> = trained.val().into_data().iter().collect();
                (0..self.models.len()).filter(|place| trained[*place] > 0.5).collect()
            }
        }
    }

    /// Places of the starts that are trained, those of the lowest errors first.
    fn ranked<E>(&self, error: impl Fn(&ZooModel) -> Result<f64, E>) -> Result<Vec<usize>, E> {
        let places = self.places();
        if let [_] = places[..] {
            return Ok(places);
        }
        let with_error = |place: usize| Ok((error(&self.models[place])?, place));
        let mut ranked = places.into_iter().map(with_error).collect::<Result<Vec<_>, E>>()?;
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(ranked.into_iter().map(|(_, place)| place).collect())
    }

    /// The start of the lowest error, the first of equal ones. An error if that of a model can't be computed.
    pub fn best<E>(&self, error: impl Fn(&ZooModel) -> Result<f64, E>) -> Result<&ZooModel, E> {
        Ok(&self.models[self.ranked(error)?[0]])
    }

    /// The starts with all but the best `count` dropped. An error if that of a model can't be computed.
    pub fn keep<E>(mut self, count: usize, error: impl Fn(&ZooModel) -> Result<f64, E>) -> Result<Self, E> {
        let ranked = self.ranked(error)?;
        let (kept, starts) = (&ranked[..count.min(ranked.len())], self.models.len());
        let flags: Vec<f32> = (0..starts).map(|place| if kept.contains(&place) { 1.0 } else { 0.0 }).collect();
        self.trained = self.trained.map(|trained| {
            trained.map(|trained| Tensor::from_data(TensorData::new(flags, [starts]), &trained.device()))
        });
        Ok(self.frozen())
    }

    /// The starts with the flags of those that are trained excluded from autodiff.
    pub fn frozen(mut self) -> Self {
        self.trained = self.trained.map(|trained| trained.set_require_grad(false));
        self
    }

    /// Every start, changed.
    pub fn map(mut self, change: impl Fn(ZooModel) -> ZooModel) -> Self {
        self.models = self.models.into_iter().map(change).collect();
        self
    }
}

#[cfg(test)]
mod tests {
    use firefly_models::zoo::{self, Settings};

    use super::*;

    /// Four butterflies of 4 to 32 values, so that their sizes tell them apart.
    fn starts(device: &Device) -> Starts {
        let model = |n| zoo::create("butterfly_tiny", &Settings::new().with("n", n), device).unwrap();
        Starts::new([4, 8, 16, 32].map(model).into(), device)
    }

    fn size(model: &ZooModel) -> u64 {
        model.settings().get("n").and_then(|n| n.as_u64()).unwrap()
    }

    #[test]
    fn the_worse_starts_are_dropped() {
        let device = Device::flex().autodiff();
        let error = |model: &ZooModel| Ok::<_, ()>((size(model) as f64 - 14.0).abs());
        let starts = starts(&device).frozen();
        assert_eq!(size(starts.best(error).unwrap()), 16);
        let starts = starts.keep(2, error).unwrap();
        assert_eq!(starts.trained().into_iter().map(size).collect::<Vec<_>>(), [8, 16]);
        assert_eq!(size(starts.best(|model| Ok::<_, ()>(size(model) as f64)).unwrap()), 8, "4 was dropped before");
        let starts = starts.keep(1, error).unwrap();
        assert_eq!(starts.trained().into_iter().map(size).collect::<Vec<_>>(), [16]);
    }

    #[test]
    fn checkpoints_know_which_starts_were_dropped() {
        let device = Device::flex();
        let error = |model: &ZooModel| Ok::<_, ()>(size(model) as f64);
        let record = starts(&device).keep(1, error).unwrap().into_record();
        let again = starts(&device).try_load_record(record).unwrap();
        assert_eq!(again.trained().into_iter().map(size).collect::<Vec<_>>(), [4]);
    }

    #[test]
    fn a_single_model_is_the_best() {
        let model = zoo::create("butterfly_tiny", &Settings::new(), &Device::flex()).unwrap();
        let starts = Starts::single(model);
        assert_eq!((starts.trained().len(), size(starts.best(|_| Ok::<_, ()>(f64::NAN)).unwrap())), (1, 8));
    }
}
