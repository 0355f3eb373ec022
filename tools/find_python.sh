#!/bin/sh
# Print the path of a Python that can run sfumato, or say on stderr what to install and exit 1.
# $PYTHON, when set, is tried first. The supported versions are those of requires-python in pyproject.toml.
set -eu
cd "$(dirname "$0")/.."

bound() { sed -n "s/^requires-python = \".*$1\\(3\\.[0-9]*\\).*\"/\\1/p" pyproject.toml; }
oldest=$(bound '>=')
beyond=$(bound '<')
newest=3.$((${beyond#3.} - 1))

# Prints "VERSION VERDICT PATH"; the verdict is fit, old, new, other (not CPython) or novenv.
# Written so that a Python of any age can run it.
probe='
import sys
v = sys.version_info[:2]
def number(text): return tuple([int(part) for part in text.split(".")])
verdict = "fit"
if v < number(sys.argv[1]): verdict = "old"
elif v >= number(sys.argv[2]): verdict = "new"
elif sys.implementation.name != "cpython": verdict = "other"
else:
    try:
        import ensurepip, venv
    except ImportError:
        verdict = "novenv"
sys.stdout.write("%d.%d %s %s\n" % (v[0], v[1], verdict, sys.executable))
'

seen=
without_venv=
for candidate in "${PYTHON:-}" python3.13 python3.12 python3.11 python3.14 python3.15 python3 python; do
    [ -n "$candidate" ] || continue
    answer=$("$candidate" -c "$probe" "$oldest" "$beyond" 2>/dev/null) || answer=
    if [ -z "$answer" ]; then
        [ "$candidate" != "${PYTHON:-}" ] || echo "PYTHON=$candidate does not run; looking for another." >&2
        continue
    fi
    version=${answer%% *}
    rest=${answer#* }
    verdict=${rest%% *}
    path=${rest#* }
    if [ "$verdict" = fit ]; then
        echo "$path"
        exit 0
    fi
    [ "$candidate" != "${PYTHON:-}" ] || echo "PYTHON=$candidate (Python $version) does not fit; looking for another." >&2
    [ "$verdict" != novenv ] || without_venv=${without_venv:-$version}
    seen="$seen
    $path: Python $version$(case $verdict in
        old) echo ", too old" ;;
        new) echo ", too new: numba has no wheels for it yet" ;;
        other) echo ", not CPython: numba does not run on it" ;;
        novenv) echo ", fits, but its venv module is missing" ;;
    esac)"
done

{
    echo "sfumato needs Python $oldest to $newest with venv, and none was found.${seen:+ Looked at:$seen}"
    echo
    if [ -n "$without_venv" ]; then
        echo "Install the missing venv module:"
        echo "    Debian, Ubuntu:  sudo apt install python3-venv      (or python$without_venv-venv)"
    else
        echo "Install one of them:"
        echo "    Debian 12+, Ubuntu 24.04+:  sudo apt install python3 python3-venv"
        echo "    Fedora:                     sudo dnf install python3.13"
        echo "    macOS with Homebrew:        brew install python@3.13"
        echo "    anything else:              python.org/downloads, pyenv, or uv python install 3.13"
    fi
    echo "Then run make again. A Python in an unusual place: make PYTHON=/path/to/python ..."
} >&2
exit 1
