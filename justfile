# Recipes for `just`; each line also works as it stands.

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
