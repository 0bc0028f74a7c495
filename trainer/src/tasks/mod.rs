//! The tasks: one folder each, and what several of them share.
//!
//! A task is added with a folder that implements [`Task`](crate::task::Task), a variant of [`TaskName`] and a line of
//! [`with_task`](crate::with_task).

pub mod classification;
pub mod denoising;
pub mod forecasting;
pub mod operator;
pub mod peaks;
pub mod scores;
pub mod transform;
pub mod zoo_model;

pub use crate::config::TaskName;

/// An expression in which `$task` is the type of the task that a [`TaskName`] names.
#[macro_export]
macro_rules! with_task {
    ($name:expr, $task:ident => $body:expr) => {
        match $name {
            $crate::tasks::TaskName::Peaks => {
                type $task = $crate::tasks::peaks::PeaksTask;
                $body
            }
            $crate::tasks::TaskName::Transform => {
                type $task = $crate::tasks::transform::TransformTask;
                $body
            }
            $crate::tasks::TaskName::Forecasting => {
                type $task = $crate::tasks::forecasting::Forecasting;
                $body
            }
            $crate::tasks::TaskName::Classification => {
                type $task = $crate::tasks::classification::Classification;
                $body
            }
            $crate::tasks::TaskName::Denoising => {
                type $task = $crate::tasks::denoising::Denoising;
                $body
            }
            $crate::tasks::TaskName::Operator => {
                type $task = $crate::tasks::operator::OperatorTask;
                $body
            }
        }
    };
}
