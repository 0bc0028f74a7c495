# What contributors and CI run: `just --list` names it. `.ci/install` installs what `just ci` needs on a Debian machine.

# Outside the checkout, so that clones share one build.
export CARGO_TARGET_DIR := env("CARGO_TARGET_DIR", home_directory() / ".cache/firefly/target")
export CARGO_TERM_COLOR := env("CARGO_TERM_COLOR", "never")

# A device of the build besides the CPU: cuda, vulkan, wgpu or metal.
features := ""
# Devices of a machine without a GPU.
device_features := "firefly-bench/ndarray,firefly-bench/wgpu,firefly-ops/metal"
# Lints see these, too; in CI they are those of `devices` and `remote`, so that Burn is checked once.
lint_features := ""
# The interpreter of `wheel` and `formats`.
python := env("PYTHON", "python3")

# Everything that must hold before a change lands.
ci:
    just lint_features={{ device_features }},firefly-cli/remote check
    just devices

# Documents, lints, tests, tutorials and packages. Installs nothing.
check: documents lint test
    # The tests have built the program. Python's blocks run in `wheel`.
    PATH="$(realpath "$CARGO_TARGET_DIR")/release:$PATH" docs/tutorials/run --without-package
    # Those that are not published are in no registry, which a lock file of a package needs.
    cargo package --workspace --no-verify --offline --allow-dirty --exclude-lockfile --quiet

# Links, the book and spelling, of the last two what the machine has the programs for.
documents:
    #!/usr/bin/env bash
    set -euo pipefail
    .ci/links
    # The folder of `.ci/install` comes last, as it has a Python interpreter of its own.
    PATH="$PATH:$HOME/.cache/firefly/tools/bin"
    if command -v mdbook > /dev/null; then .ci/book; else echo "just: no mdbook, so the book is not checked" >&2; fi
    if command -v codespell > /dev/null; then
      git ls-files -z '*.md' '*.rs' '*.py' '*.pyi' '*.toml' '*.yml' '*.snap' '*.h' 'web/js/*' 'web/page/*' 'web/tests/*.mjs' \
        web/build .ci justfile docs/{notebooks,tutorials}/run | xargs -0 codespell
    else
      echo "just: no codespell, so spelling is not checked" >&2
    fi

# Formatting, lock files, Clippy and rustdoc, with warnings denied.
lint:
    cargo fmt --all --check
    # Workspaces of their own, which are not built here: their lock files must fit all the same.
    for workspace in fuzz python web; do \
      cargo metadata --manifest-path $workspace/Cargo.toml --locked --format-version 1 > /dev/null || exit 1; done
    cargo clippy --release --workspace --all-targets --locked --features "{{ lint_features }}" -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --release --workspace --no-deps --locked --quiet --features "{{ lint_features }}"

# The tests, with every failure and not only those of the first program.
test:
    cargo test --release --workspace --locked --no-fail-fast

# Device tests on NdArray and on Mesa's software Vulkan device, which must be installed. Builds Burn once more.
devices:
    #!/usr/bin/env bash
    set -euo pipefail
    # A missing device fails the tests instead of leaving them out. Unit tests of kernels, which the test harness of Rust
    # can only ignore as they are compiled, are asked for by --include-ignored.
    export FIREFLY_REQUIRE="${FIREFLY_REQUIRE:+$FIREFLY_REQUIRE,}devices"
    VK_DRIVER_FILES="$(echo /usr/share/vulkan/icd.d/lvp_icd*.json)"
    export VK_DRIVER_FILES
    # Nearly all of the time goes into compiling shaders, which the tests run once or twice: without optimisation, for
    # narrow registers (half the instructions), and never twice for the same source.
    export GALLIVM_PERF=nopt LP_NATIVE_VECTOR_WIDTH=128
    export MESA_SHADER_CACHE_DIR="$CARGO_TARGET_DIR/shaders"
    mkdir -p "$MESA_SHADER_CACHE_DIR"

    suites=(device parity adam peak_loss top_k local_maxima fft stft spectral_conv long_conv mel power_spectrum
      accelerators ndarray)
    tests() {
      cargo test --release -p firefly-ops -p firefly-bench --locked --features {{ device_features }} "$@"
    }
    tests --no-run --lib "${suites[@]/#/--test=}"
    # A process compiles one shader at a time, so two share the work.
    log="$(mktemp)"
    trap 'rm -f "$log"' EXIT
    tests --no-fail-fast --lib -- --include-ignored > "$log" 2>&1 &
    unit_tests=$!
    failed=0
    tests --no-fail-fast "${suites[@]/#/--test=}" -- --include-ignored || failed=1
    wait "$unit_tests" || failed=1
    cat "$log"
    exit "$failed"

# Published crates with one backend each, and the program without default features. Builds Burn several times.
backends:
    #!/usr/bin/env bash
    set -euo pipefail
    lint() { cargo clippy --release --locked --no-default-features "$@" -- -D warnings; }
    for features in flex flex,autodiff ndarray wgpu; do
      echo "$features"
      # The operations alone, then what adds capture and replay to them.
      lint -p firefly-ops --features "$features"
      lint -p firefly-framework -p firefly-models --features "$features"
    done
    # The front door alone: peaks, spectrum, spectrogram and devices, without the trainer, the bench and the reference.
    echo "firefly-cli: without default features"
    lint -p firefly-cli
    if cargo tree -p firefly-cli --no-default-features -e normal | grep -E "firefly-(trainer|bench|reference)"; then
      echo "the program without default features links the trainer, the bench or the reference" >&2
      exit 1
    fi

# Published crates, built from their packages, and their documentation tests with default features. Builds Burn twice.
packages:
    #!/usr/bin/env bash
    set -euo pipefail
    published=(firefly-reference firefly-ops firefly-framework firefly-models)
    rm -f "$CARGO_TARGET_DIR"/package/*.crate
    cargo package --locked "${published[@]/#/--package=}"

    # Outside the checkout, whose workspace they are not part of. They depend on each other, and no registry has them.
    unpacked="$(mktemp -d)"
    trap 'rm -rf "$unpacked"' EXIT
    patches=()
    for crate in "${published[@]}"; do
      mkdir "$unpacked/$crate"
      tar -xzf "$CARGO_TARGET_DIR/package/$crate"-[0-9]*.crate -C "$unpacked/$crate" --strip-components 1
      patches+=(--config "patch.crates-io.$crate.path='$unpacked/$crate'")
    done
    export CARGO_TARGET_DIR="$CARGO_TARGET_DIR/unpacked"
    for crate in "${published[@]}"; do
      cargo test --release --doc --manifest-path "$unpacked/$crate/Cargo.toml" "${patches[@]}"
    done

# Files that the ecosystems of recordings write, or those of GROUPS, value for value. ffmpeg must be installed.
formats *groups:
    #!/usr/bin/env bash
    set -euo pipefail
    export PYTHONDONTWRITEBYTECODE=1
    tests=recordings/tests/ecosystem
    environment="$CARGO_TARGET_DIR/formats"
    {{ python }} -m venv "$environment"
    "$environment/bin/pip" install --quiet --requirement $tests/requirements.txt
    (
      cd $tests
      "$environment/bin/ruff" format --no-cache --check --config ../../../python/pyproject.toml .
      "$environment/bin/ruff" check --no-cache --config ../../../python/pyproject.toml .
    )
    # Features as of the whole workspace, so that Burn is built once.
    cargo build --release --locked --workspace --bin firefly --example samples
    FIREFLY_PROGRAMS="$CARGO_TARGET_DIR/release" "$environment/bin/python" $tests {{ groups }}

# ONNX files of the zoo and of single operations, whose values onnxruntime compares with those of the models.
onnx:
    #!/usr/bin/env bash
    set -euo pipefail
    export PYTHONDONTWRITEBYTECODE=1
    tests="$PWD/models/tests/onnx"
    environment="$CARGO_TARGET_DIR/onnx"
    {{ python }} -m venv "$environment"
    "$environment/bin/pip" install --quiet --requirement "$tests/requirements.txt"
    "$environment/bin/ruff" format --no-cache --check --config python/pyproject.toml "$tests"
    "$environment/bin/ruff" check --no-cache --config python/pyproject.toml "$tests"
    # Writes the files. Features as of the whole workspace, so that Burn is built once.
    rm -rf "$CARGO_TARGET_DIR/tmp/onnx"
    cargo test --release --locked --workspace --test onnx
    "$environment/bin/python" "$tests" "$CARGO_TARGET_DIR/tmp/onnx"

# The Python package: lints, a wheel, its tests, tutorials and notebooks. EXTRAS=ray,dask,torch,jax adds what examples and arrays need.
wheel:
    #!/usr/bin/env bash
    set -euo pipefail
    cd python
    version="$({{ python }} -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
    environment="$CARGO_TARGET_DIR/python/$version"
    {{ python }} -m venv "$environment"
    # shellcheck disable=SC1091
    . "$environment/bin/activate"
    pip install --quiet "maturin>=1.9,<2" "numpy>=1.23" pytest scipy hypothesis mypy ruff nbclient ipykernel \
      matplotlib soundfile
    case ",${EXTRAS:-}," in *,ray,*) pip install --quiet "ray[data]" pyarrow;; esac
    case ",${EXTRAS:-}," in *,dask,*) pip install --quiet "dask[distributed]" pyarrow;; esac
    case ",${EXTRAS:-}," in *,torch,*) pip install --quiet torch;; esac
    case ",${EXTRAS:-}," in *,jax,*) pip install --quiet jax;; esac

    cargo fmt --check
    cargo clippy --release --locked -- -D warnings
    ruff format --check . ../examples ../docs/notebooks/run
    ruff check . ../examples ../docs/notebooks/run
    maturin build --release --locked --interpreter "{{ python }}" --out "$environment/wheels"
    pip install --quiet --force-reinstall --no-deps "$environment"/wheels/*.whl
    mypy
    # In another folder, so that the installed package is tested and not the one here, which has no extension module.
    project="$PWD"
    cd "$environment"
    package="$(python -c 'import firefly_fft, os; print(os.path.dirname(firefly_fft.__file__))')"
    pytest --quiet -p no:cacheprovider -c "$project/pyproject.toml" "$project/tests" "$package"
    "$project/../docs/tutorials/run" --without-program
    "$project/../docs/notebooks/run"

# What a user installs, by name and version from local registries: the lines of releasing.md, and the wheel of `wheel` with its examples.
registries:
    #!/usr/bin/env bash
    set -euo pipefail
    project="$(mktemp -d)"
    trap 'rm -rf "$project"' EXIT
    published=(firefly-reference firefly-ops firefly-framework firefly-models)
    rm -f "$CARGO_TARGET_DIR"/package/*.crate
    cargo package --no-verify --offline --allow-dirty --exclude-lockfile --quiet "${published[@]/#/--package=}"

    # A directory in the place of crates.io, of the workspace's dependencies and of the packages with their checksums.
    mkdir "$project/src" "$project/.cargo"
    cargo vendor --locked --quiet "$project/vendor"
    printf '[source]\ncrates-io.replace-with = "local"\nlocal.directory = "vendor"\n' > "$project/.cargo/config.toml"
    for package in "$CARGO_TARGET_DIR"/package/*.crate; do
      tar -xzf "$package" -C "$project/vendor"
      printf '{"files":{},"package":"%s"}' "$(sha256sum < "$package" | cut -d ' ' -f 1)" \
        > "$project/vendor/$(basename "$package" .crate)/.cargo-checksum.json"
    done
    printf '[package]\nname = "user"\nedition = "2024"\n\n' > "$project/Cargo.toml"
    sed -n '/^```toml$/,/^```$/{//!p}' docs/releasing.md >> "$project/Cargo.toml"
    sed -n '/^```rust$/,/^```$/{//!p}' README.md > "$project/src/main.rs"
    (cd "$project" && cargo generate-lockfile --offline && cargo tree --offline --locked --edges normal --depth 1)

    version="$({{ python }} -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
    {{ python }} -m venv "$project/venv"
    "$project/venv/bin/pip" download --quiet --dest "$project/wheels" "$CARGO_TARGET_DIR/python/$version"/wheels/*.whl pytest
    time "$project/venv/bin/pip" install --quiet --no-index --find-links "$project/wheels" firefly-fft pytest
    package="$(cd "$project" && venv/bin/python -c 'import firefly_fft, os; print(os.path.dirname(firefly_fft.__file__))')"
    time "$project/venv/bin/python" -m pytest --quiet -p no:cacheprovider -c python/pyproject.toml "$package"

# The modules for browsers and the page, in Node and Chromium (CHROMIUM) with WebGPU, unless FIREFLY_WITHOUT=webgpu; needs Node 20, npm.
web:
    #!/usr/bin/env bash
    set -euo pipefail
    cd web
    cargo fmt --all --check
    for module in cpu models webgpu; do
      # A compiler from elsewhere (RUSTC) has no Clippy of its version.
      if [ -z "${RUSTC:-}" ]; then
        cargo clippy --release --locked --target wasm32-unknown-unknown -p firefly-web --no-default-features --features $module -- -D warnings
      fi
      # Without SIMD the operations and the models compile, too.
      cargo check --release --locked --target wasm32-unknown-unknown -p firefly-web --no-default-features --features $module
    done

    ./build
    node --test tests/parity.mjs
    node tests/bench.mjs
    npm --prefix tests ci --no-audit --no-fund
    (cd tests && npx tsc --noEmit --strict --target es2022 --module nodenext --lib es2022,dom types.ts)
    node --test tests/page.mjs

# A server in another process, eight clients and TLS; nginx and openssl must be installed. Builds Burn once more.
remote:
    cargo clippy --release --locked -p firefly-app -p firefly-cli --features firefly-cli/remote --all-targets -- -D warnings
    cargo test --release --locked -p firefly-cli --features remote --test suite -- --nocapture --include-ignored remote::
    cargo test --release --locked -p firefly-app --features remote --lib

# A minute per parser of recordings, arrays, weights, configurations, runs, profiles and reports. Builds Burn once more.
fuzz:
    # Time, not the number of iterations, ends a target.
    cd fuzz && BOLERO_RANDOM_TEST_TIME_MS="${BOLERO_RANDOM_TEST_TIME_MS:-60000}" BOLERO_RANDOM_ITERATIONS=1000000000 \
      cargo test --release --locked --test parsers

# Trains the shipped configuration, on recordings if FIREFLY_DATA or --data names a folder.
train config="configs/bearing-256.toml" *options:
    cargo run --release --bin firefly-train -- {{ config }} {{ options }}

# Verifies and times Welch peaks.
bench *options:
    cargo run --release --bin firefly-bench -- welch-peaks {{ options }}

# Fusion, phase by phase: counted, predicted and measured. With a GPU: `just features=cuda fusion-phases`.
fusion-phases *options:
    cargo run --release --bin firefly-bench {{ if features == "" { "" } else { "--features firefly-bench/" + features } }} -- fusion-phases {{ options }}

# The published decisions of the fusion gate.
gate-tests:
    cargo test --release -p firefly-framework published
