#!/bin/sh
# Install sfumato and the named extras into .venv, from constraints.txt. Does nothing when that is done already.
#
#     tools/install.sh            what users get
#     tools/install.sh test lint  and two extras
#
# A .venv that was interrupted half-way, was moved, or whose Python is gone or no longer fits is made anew.
set -eu
cd "$(dirname "$0")/.."

venv=.venv
root=$(pwd -P)
inputs=$(cat pyproject.toml constraints.txt | cksum)

# .venv/.made-for says for which folder it was completed: its scripts and the editable install point there.
# .venv/.installing exists while pip is at work, so it is left behind by an installation that died.
usable() {
    [ -f $venv/.made-for ] && [ "$(cat $venv/.made-for)" = "$root" ] && [ ! -e $venv/.installing ] &&
        PYTHON=$venv/bin/python sh tools/find_python.sh 2>/dev/null | grep -qF "$root/$venv/"
}

installed() { [ "$(cat "$venv/.installed-$1" 2>/dev/null)" = "$inputs" ]; }

make_venv() {
    python=$(sh tools/find_python.sh) || exit 1
    [ ! -e $venv ] || echo "Making .venv anew: it is incomplete, was moved, or its Python is gone." >&2
    rm -rf $venv
    echo "Making .venv with $python" >&2
    if ! "$python" -m venv $venv; then
        rm -rf $venv
        echo "$python cannot make a virtual environment. On Debian and Ubuntu: sudo apt install python3-venv" >&2
        exit 1
    fi
    echo "$root" >$venv/.made-for
}

pip_install() {
    $venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt "$@"
}

install() {
    extras=$(echo "$*" | tr ' ' ',')
    echo "Installing sfumato${extras:+ with extras $extras} into .venv (once; some 300 MB are downloaded if pip has no copy) ..." >&2
    touch $venv/.installing
    # The build tools come from the constraints too, hence no isolated build; Spark comes as source, which needs setuptools.
    if ! { pip_install hatchling editables setuptools && pip_install --no-build-isolation --editable ".${extras:+[$extras]}"; }; then
        echo "The installation failed; pip said why above. Without a network, point pip to a folder of wheels:" >&2
        echo "    PIP_NO_INDEX=1 PIP_FIND_LINKS=/folder/of/wheels make ..." >&2
        exit 1
    fi
    for part in base "$@"; do echo "$inputs" >"$venv/.installed-$part"; done
    rm $venv/.installing
}

usable || make_venv
for part in base "$@"; do
    if ! installed "$part"; then
        install "$@"
        break
    fi
done
