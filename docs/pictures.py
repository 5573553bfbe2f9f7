"""Makes the pictures of the pages from runs of the commands that the pages show.

python docs/pictures.py [ablation] [site] [terminal] [win-matrix RESULTS]

`ablation` trains the ablation of the README in an empty folder, and keeps the figure of its answer. `site` photographs
in headless Chromium the first page of the site that `make docs` has made. `terminal` runs the
commands of `TERMINAL` one after the other in a terminal of 80 columns, by tmux, and draws what each leaves on the
screen; it takes two minutes. `win-matrix` draws the figure "All against each other, all labels" of
paper/sweeps/agreement.yaml from its results, which take hours to train.
"""

import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

import scarf_lightning
from notebooks import HANGS_AFTER, reduced

DOCS = Path(__file__).parent
SWEEP = [
    "corruption=marginal,mean", "loss=infonce,barlow_twins", "scaling=zscore,minmax", "vary=one", "recipe=practical",
]  # fmt: skip
AGREEMENT = ["sweeps=paper/sweeps/agreement.yaml", "pretrain=none,scarf"]
WINDOW = (1280, 800)
COLUMNS = 80
EMPTY = Path(tempfile.gettempdir(), "wdbc")
"""The folder of the commands. Its name is short, so that paths fit into a line; it must not exist."""
TERMINAL = {
    "first-answer": "scarf train pretrain=none,scarf recipe=practical",
    "sweep": "scarf train corruption=mean,marginal scaling=zscore,minmax recipe=practical",
    "plan": "scarf plan pretrain=none,scarf regime=full,few trials=10 recipe=practical",
    "refusal": "scarf train corruption=maen",
}
"""Commands by the name of their picture, each in the folder of those before it."""
RUN = 'printf \'\\033[1m$ %s\\033[0m\\n\' "$SHOWN"; eval "$SHOWN"; tmux -L $SOCKET wait-for -S done; sleep 60'
"""The program of a terminal: a command after its prompt, and then a sign that it has ended."""
SVG = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>.{unique_id}-matrix {{ font-family: Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: {char_height}px;
line-height: {line_height}px; }} {styles}</style>
<defs>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})">{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""
"""Rich's template without the fonts of a distant server."""


def ablation() -> None:
    """Keep the figure of the answer on the ablation of the README."""
    with tempfile.TemporaryDirectory() as folder:
        results = f"{folder}/results"
        scarf_lightning.run([*SWEEP, f"paths.results={results}"])
        written = scarf_lightning.report(results=results, out=f"{folder}/report")
        _keep(written.index.parent / "figures/effects.png", "ablation")


def site() -> None:
    """Photograph the first page of the site that `make docs` has made."""
    page = DOCS.parent / "build/site/index.html"
    if not page.exists():
        raise SystemExit("There is no site in build/site; run make docs first.")
    _photograph(page, "site")


def _photograph(page: Path, name: str) -> None:
    """Keep the top of a page, as headless Chromium shows it."""
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder, "screen.png")
        subprocess.run(
            [
                _program("chromium chromium-browser google-chrome", "It photographs the page."),
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                "--blink-settings=preferredColorScheme=1",
                f"--user-data-dir={folder}/profile",
                f"--window-size={WINDOW[0]},{WINDOW[1]}",
                f"--screenshot={picture}",
                page.absolute().as_uri(),
            ],
            check=True,
            capture_output=True,
        )
        _keep(picture, name)


def terminal() -> None:
    """Draw what commands leave in a terminal."""
    EMPTY.mkdir()
    try:
        for name, command in TERMINAL.items():
            console = Console(record=True, width=COLUMNS, file=io.StringIO())
            console.print(Text.from_ansi(_left_by(command, EMPTY)))
            drawn = console.export_svg(title="", code_format=SVG, unique_id=name)
            (DOCS / f"{name}.svg").write_text(drawn, encoding="utf-8")
    finally:
        shutil.rmtree(EMPTY)


def _left_by(command: str, folder: Path) -> str:
    """The screen after a command, with its colours as escape sequences."""
    # A server of its own, which ends with the command.
    socket = f"pictures-{os.getpid()}-{sum(command.encode())}"
    tmux = [_program("tmux", "It is the terminal."), "-L", socket, "-f", os.devnull]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    known = {**os.environ, "SHOWN": command, "SOCKET": socket, "PATH": path}
    size = ["-x", f"{COLUMNS}", "-y", "50"]
    subprocess.run([*tmux, "new-session", "-d", *size, "-c", f"{folder}", "bash", "-c", RUN], check=True, env=known)
    try:
        subprocess.run([*tmux, "wait-for", "done"], check=True, timeout=HANGS_AFTER)
        # All lines from the first one on, also those that have left the screen.
        screen = subprocess.run([*tmux, "capture-pane", "-e", "-p", "-S", "-"], check=True, capture_output=True)
    finally:
        subprocess.run([*tmux, "kill-server"], check=True)
    # As in the outputs of notebooks, what changes with the machine is left out.
    return screen.stdout.decode().rstrip().replace(f"{folder}{os.sep}", "")


def win_matrix(results: str) -> None:
    """Draw who beats whom on the paper's tables, by the corrected test."""
    with tempfile.TemporaryDirectory() as folder:
        written = scarf_lightning.report([*AGREEMENT, f"paths.results={results}"], out=f"{folder}/report")
        _keep(written.index.parent / "figures/01-win_matrix.png", "win-matrix")


def _program(names: str, purpose: str) -> str:
    """The path of the first of these programs that is installed."""
    for name in names.split():
        found = shutil.which(name)
        if found:
            return found
    raise SystemExit(f"Install {names.split()[0]}. {purpose}")


def _keep(picture: Path, name: str) -> None:
    """Write a picture beside the pages, in few colours."""
    (DOCS / f"{name}.png").write_bytes(reduced(picture.read_bytes()))


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["win-matrix"] and len(arguments) == 2:
        win_matrix(arguments[1])
    elif arguments == ["ablation"]:
        ablation()
    elif arguments == ["site"]:
        site()
    elif arguments == ["terminal"]:
        terminal()
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
