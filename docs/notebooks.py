"""Executes the notebooks of the gallery by papermill in an empty folder and keeps their outputs.

python docs/notebooks.py [NAME ...]

Outputs are committed, so what changes with each execution is left out: times, the folder, and the progress that cells
with the tag `trains` show. Pictures are kept in 64 colours, which makes them smaller.
"""

import base64
import io
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import papermill
from PIL import Image

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
COLOURS = 64
HANGS_AFTER = 600
"""Seconds in one cell; the longest takes about half a minute on two cores."""
KEPT = ("image/png", "text/html", "text/plain")
"""What is kept of an output; of one with a picture, the picture alone."""


def execute(file: Path, folder: Path) -> Any:
    """Execute the text of a notebook in a folder.

    Args:
        file: a notebook's text, `notebooks/NAME.py`.
        folder: the working folder of the notebook, which should be empty.

    Returns:
        The notebook with tidy outputs.
    """
    with tempfile.TemporaryDirectory() as beside:
        source = Path(beside, f"{file.stem}.ipynb")
        jupytext.write(jupytext.read(file), source)
        notebook = papermill.execute_notebook(
            source, source, cwd=folder, progress_bar=False, kernel_name="python3", execution_timeout=HANGS_AFTER
        )
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        for own in ("execution", "papermill"):
            cell.metadata.pop(own, None)
        if "trains" in cell.metadata.get("tags", []):
            cell.outputs = [output for output in cell.outputs if output.output_type != "display_data"]
        for output in cell.get("outputs", []):
            tidy(output, folder)
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"], "jupytext": {"formats": "ipynb,py:percent"}}
    return notebook


def tidy(output: Any, folder: Path) -> None:
    """Leave out of an output what changes with each execution."""
    if output.output_type == "stream":
        output.text = output.text.replace(f"{folder}{os.sep}", "")
        return
    data = output.get("data", {})
    for kind in set(data) - set(KEPT):
        del data[kind]
    if "image/png" in data:
        output.data = {"image/png": smaller(data["image/png"])}
    elif "text/html" in data:
        data["text/html"] = re.sub(r"<style scoped>.*?</style>\s*", "", data["text/html"], flags=re.DOTALL)


def smaller(picture: str) -> str:
    """A picture in base64, reduced."""
    return base64.b64encode(reduced(base64.b64decode(picture))).decode()


def reduced(picture: bytes) -> bytes:
    """A PNG with few colours and without its metadata."""
    small = io.BytesIO()
    with Image.open(io.BytesIO(picture)) as image:
        few = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        few.save(small, "PNG", optimize=True)
    return small.getvalue()


if __name__ == "__main__":
    for text in [NOTEBOOKS / f"{name}.py" for name in sys.argv[1:]] or sorted(NOTEBOOKS.glob("*.py")):
        with tempfile.TemporaryDirectory() as empty:
            nbformat.write(execute(text, Path(empty)), text.with_suffix(".ipynb"))
