"""Compare golden releases, or write their digests anew:
``python -m tests.golden [--update] [--keep FOLDER] [words of names]``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.golden.case import digests_of, run_case
from tests.golden.cases import CASES, read_digests, unavailable, write_digests
from tests.golden.names import differences, public_names, stored_names, write_names


def main() -> int:
    """Run cases and tell, file by file, what is not as stored: exit code 1 where something is."""
    parser = argparse.ArgumentParser(prog="make golden ARGS=…", description=main.__doc__)
    parser.add_argument("names", nargs="*", help="only cases whose names hold one of these words")
    parser.add_argument(
        "--update", action="store_true", help="store what is found, and print what changed"
    )
    parser.add_argument(
        "--keep",
        type=Path,
        help="a folder for the comparable text of every file, to compare with diff -r",
    )
    options = parser.parse_args()
    chosen = [
        name for name in CASES if not options.names or any(word in name for word in options.names)
    ]
    stored = read_digests()
    different = 0
    for name in chosen:
        reason = unavailable(CASES[name])
        if reason:
            print(f"{name}: skipped, {reason}")
            continue
        different += _compare(name, stored, options.keep)
    gone = set(stored) - set(CASES)
    for name in sorted(gone):
        print(f"{name}: no longer a case")
        del stored[name]
    names = public_names()
    renamed = differences(stored_names(), names)
    for line in renamed:
        print(f"name: {line}")
    if options.update:
        write_digests(stored)
        write_names(names)
    print(f"{len(chosen)} cases, {different} files differ, {len(renamed)} names differ")
    return int(not options.update and bool(different or gone or renamed))


def _compare(name: str, stored: dict[str, dict[str, str]], keep: Path | None) -> int:
    """Run one case, put its digests among those stored, and print which were others; their
    number.
    """
    with tempfile.TemporaryDirectory() as folder:
        results = run_case(CASES[name], Path(folder))
    if keep is not None:
        for file, text in results.items():
            target = keep / name.replace(":", "").replace(" ", "-") / file.replace(" ", "-")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    before, after = stored.get(name, {}), digests_of(results)
    stored[name] = after
    changed = [file for file in {**before, **after} if before.get(file) != after.get(file)]
    for file in changed:
        word = "new" if file not in before else "gone" if file not in after else "changed"
        print(f"{name}: {file} {word}")
    return len(changed)


if __name__ == "__main__":
    sys.exit(main())
