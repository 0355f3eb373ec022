#!/bin/sh
# Install r/sfumato into a temporary library and run its tests with the Python of .venv.
# On Debian: apt-get install r-base-core r-cran-reticulate r-cran-testthat r-cran-haven
set -eu
cd "$(dirname "$0")/.."
python=${RETICULATE_PYTHON:-$(pwd)/.venv/bin/python}
command -v R >/dev/null || { echo "R is not installed; nothing was tested." >&2; exit 1; }
library=$(mktemp -d)
trap 'rm -rf "$library"' EXIT
R CMD INSTALL --no-docs --library="$library" r/sfumato >/dev/null 2>&1 ||
    { echo "r/sfumato could not be installed." >&2; exit 1; }
RETICULATE_PYTHON=$python R_LIBS=$library Rscript -e \
    'library(testthat); library(sfumato); test_dir("r/sfumato/tests/testthat", package = "sfumato", load_package = "installed", stop_on_failure = TRUE)'
