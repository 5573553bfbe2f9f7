"""Attacks on the package, with what became of them.

    python -m tools.fuzzing [KIND ...] [--count N] [--first N] [--verbose]

Without a count, the whole count of each kind: 3,300 attacks in about half an hour. Ends with status 1 if one of
them met a fault.
"""

import argparse
import importlib
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tools.fuzzing.attacking import KINDS, outcomes


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzzing", description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; all by default")
    parser.add_argument("--count", type=int, help="attacks of each kind")
    parser.add_argument("--first", type=int, default=0, help="number of the first attack")
    parser.add_argument("--verbose", action="store_true", help="a line for each attack")
    asked = parser.parse_args()
    n_wrong = 0
    for kind in asked.kinds or KINDS:
        count = asked.count or importlib.import_module(f"tools.fuzzing.{kind}").COUNT
        folder, fates, slowest = Path(tempfile.mkdtemp(prefix=f"fuzzing-{kind}-")), Counter[str](), 0.0
        for each in outcomes(kind, range(asked.first, asked.first + count), folder):
            fates["faults" if each.wrong else "refused" if each.refusal else "used"] += 1
            slowest = max(slowest, each.seconds)
            if each.wrong or asked.verbose:
                print(each, flush=True)
            if not each.wrong:
                shutil.rmtree(folder / f"{kind}-{each.number}")
        shutil.rmtree(folder)
        n_wrong += fates["faults"]
        print(f"{kind}: {count} attacks, {dict(fates)}, the slowest {slowest:.1f} s", flush=True)
    return int(n_wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
