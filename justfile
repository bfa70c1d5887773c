# Recipes for common tasks. CI runs them, so they stay correct; every line also works by hand.

# List the recipes.
default:
    @just --list

# Format everything.
fmt:
    cargo fmt --all
    cargo fmt --manifest-path fuzz/Cargo.toml

# The feature that only CI enables: a test peer that compiles a C library.
all_peers := "--features harn-tests/sdk-http"

# Checks that save the reviewer work: formatting, lints, and the tidy checks, unused dependencies among them.
lint:
    cargo fmt --all --check
    cargo fmt --manifest-path fuzz/Cargo.toml --check
    cargo clippy --workspace --all-targets {{ all_peers }} -- -D warnings
    cargo run -p xtask -- tidy
    cargo run -p xtask -- numbers

# Spelling in sources and pages, and in pages also words that the style replaces. `pip install codespell` installs the program.
spell:
    git ls-files '*.md' '*.rs' '*.toml' ':!CHANGELOG.md' | xargs codespell --ignore-words .ci/spelling-exceptions
    git ls-files 'docs/*.md' README.md CONTRIBUTING.md | xargs codespell --dictionary .ci/plain-words

# Compile what `test` runs, and run nothing.
build:
    cargo test --workspace {{ all_peers }} --no-run

# All tests, the tidy checks among them. A test whose program is missing is skipped, unless HARN_TESTS_REQUIRE_ALL is set.
test:
    cargo test --workspace {{ all_peers }}

# The tests of builds without optional parts: the program with ACP alone, and what an embedder builds.
test-acp:
    cargo test -p harn-serve --no-default-features --features cli --lib --test it
    cargo test -p harn-serve --no-default-features --features acp --lib
    cargo test -p harn-tools --no-default-features --lib -- every_server_is_given_up arguments_must_be_an_object fetch_is_not_listed

# Fuzz every parser for so many seconds, or with 0 only build; failing inputs are stored in fuzz/artifacts.
fuzz seconds="600" *targets:
    fuzz/run {{ seconds }} {{ targets }}

# The figures of docs/reliability.md: floods, many sessions, a failing disk, and observers for so many seconds. Parts can be named.
soak seconds="1800" *parts:
    cargo build --release -p harn-serve
    HARN_SOAK=1 HARN_SERVE_BIN="${CARGO_TARGET_DIR:-$PWD/target}/release/harn-serve" cargo bench -p harn-bench --bench soak -- --seconds {{ seconds }} {{ parts }}
    HARN_SOAK=1 cargo test --release -p harn-journal --test journal
    HARN_SOAK=1 cargo test --release -p harn-tests --test it kill9

# Change the code of the journal, the policy and the permissions piece by piece, and list the changes that no test notices. Needs cargo-mutants.
mutants *args:
    cargo mutants --no-shuffle --jobs 1 --package harn-journal --package harn-policy {{ args }}
    cargo mutants --no-shuffle --jobs 1 --package harn-runtime --file 'crates/runtime/src/permission/*.rs' {{ args }}

# Real clients against the binary; a path takes another binary than the one just built.
peers *binary:
    peers/run {{ binary }}

# The web page: its parts, its build, and a browser on it; a path takes another binary than the one just built.
web *binary:
    web/run {{ binary }}

# The figures of docs/performance.md, measured here.
bench:
    cargo bench -p harn-bench

# Rewrite every expectation and fixture from the current behaviour; read the diff before committing.
update-fixtures:
    UPDATE_EXPECT=1 cargo test --workspace

# Run everything that CI runs.
ci:
    .ci/run
