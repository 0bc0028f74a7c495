# Recipes for `just`; each line also works as it stands.

# A device of the build besides the CPU: cuda, vulkan, wgpu or metal.
features := ""

# Everything a change must pass.
ci:
    .ci/run

# The tests.
test:
    cargo test --release --workspace

# Trains the shipped configuration, on recordings if FIREFLY_DATA or --data names a folder.
train config="configs/bearing-256.toml" *options:
    cargo run --release --bin firefly-train -- {{config}} {{options}}

# Verifies and times Welch peaks.
bench *options:
    cargo run --release --bin firefly-bench -- welch-peaks {{options}}

# Fusion, phase by phase: counted, predicted and measured. With a GPU: `just features=cuda fusion-phases`.
fusion-phases *options:
    cargo run --release --bin firefly-bench {{ if features == "" { "" } else { "--features firefly-bench/" + features } }} -- fusion-phases {{options}}

# The published decisions of the fusion gate.
gate-tests:
    cargo test --release -p firefly-framework published
