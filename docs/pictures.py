"""Makes the pictures of the pages from runs of the commands that the pages show.

python docs/pictures.py [first-screen] [win-matrix RESULTS]

`first-screen` trains the second sweep of the README with 30 trials in an empty folder, and photographs its report in
headless Chromium. `win-matrix` draws the figure "All against each other, all labels" of paper/sweeps/agreement.yaml
from its results, which take hours to train.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import scarf_lightning
from notebooks import reduced

DOCS = Path(__file__).parent
SWEEP = ["corruption=mean,marginal", "scaling=zscore,minmax", "trials=30"]
AGREEMENT = ["sweeps=paper/sweeps/agreement.yaml", "pretrain=none,scarf"]
WINDOW = (1280, 800)


def first_screen() -> None:
    """Photograph the top of the report on a sweep of four cells."""
    with tempfile.TemporaryDirectory() as folder:
        results = f"{folder}/results"
        scarf_lightning.run([*SWEEP, f"paths.results={results}"])
        written = scarf_lightning.report(results=results, out=f"{folder}/report")
        picture = Path(folder, "screen.png")
        subprocess.run(
            [
                _chromium(),
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                "--blink-settings=preferredColorScheme=1",
                f"--user-data-dir={folder}/profile",
                f"--window-size={WINDOW[0]},{WINDOW[1]}",
                f"--screenshot={picture}",
                written.index.absolute().as_uri(),
            ],
            check=True,
            capture_output=True,
        )
        _keep(picture, "first-screen")


def win_matrix(results: str) -> None:
    """Draw who beats whom on the paper's tables, by the corrected test."""
    with tempfile.TemporaryDirectory() as folder:
        written = scarf_lightning.report([*AGREEMENT, f"paths.results={results}"], out=f"{folder}/report")
        _keep(written.index.parent / "figures/01-win_matrix.png", "win-matrix")


def _chromium() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found:
            return found
    raise SystemExit("No Chromium is on the PATH; it photographs the page.")


def _keep(picture: Path, name: str) -> None:
    """Write a picture beside the pages, in few colours."""
    (DOCS / f"{name}.png").write_bytes(reduced(picture.read_bytes()))


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["win-matrix"] and len(arguments) == 2:
        win_matrix(arguments[1])
    elif arguments == ["first-screen"]:
        first_screen()
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
