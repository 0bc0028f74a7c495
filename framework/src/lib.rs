//! Analysis of models that run on Burn: capture as a graph, data movement, predicted times, rewriting and replay.
//!
//! - [`graph`]: a model captured as data, and replayed on a backend.
//! - [`movement`]: launches and bytes of a graph, node by node.
//! - [`drawing`]: pictures of a graph and its movement.
//! - [`device`] and [`profile`]: devices, and the constants and latencies that predictions follow from.
//! - [`calibration`]: measurement of a device profile.
//! - [`cost`]: predicted times, and the fusion gate.
//! - [`picker`]: the strategy that computes Welch peaks of a batch.
//! - [`published`]: the published system's constants, estimates, rules and names.
//! - [`rewrite`]: rules that replace parts of a graph by Firefly's operations.
//! - [`onnx`]: export of graphs as ONNX files.
//! - [`files`]: atomic replacement of files.
//!
//! # Features
//! `autodiff` and `flex` are on by default. Backends are additive: `flex`, `ndarray`, `wgpu`, `vulkan`, `metal`,
//! `cuda`, `rocm`; `autodiff`, `fusion`, `simd` and `rayon` are those of `firefly-ops`.
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod calibration;
pub mod cost;
pub mod device;
pub mod drawing;
pub mod files;
pub mod graph;
pub mod movement;
pub mod onnx;
pub mod picker;
pub mod profile;
pub mod published;
pub mod rewrite;
