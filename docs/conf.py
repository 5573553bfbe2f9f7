"""The documentation site: ``make docs`` builds it, without a network, and any warning is an error."""

import base64
import json
import re
import runpy
import shutil
from contextlib import suppress
from pathlib import Path
from pkgutil import resolve_name

import scarf_lightning

HERE = Path(__file__).parent
ROOT = HERE.parent

project = "SCARF-Lightning"
author = "The SCARF-Lightning authors"
copyright = f"2026, {author}"
release = version = scarf_lightning.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",  # the role `autolink`
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build"]
nitpicky = True
default_role = "autolink"  # a name in single backticks becomes a link

# Pages and notebooks
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "html_image"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # notebooks are committed with their outputs; a test runs them
nb_merge_streams = True
copybutton_exclude = ".linenos, .gp, .go"

# Reference
autosummary_generate = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"SCARF-Lightning {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_use_index = html_domain_indices = False  # the search and the reference have every name
html_theme_options = {"navigation_with_keys": True}


SHOWN = (".md", ".png", ".svg", ".yaml", ".csv")
"""What the site shows of a study, or offers to load down."""


def copy_in(folder: str, files: list[Path]) -> None:
    """Put pages that are kept elsewhere in the repository into a folder of the site."""
    target = HERE / folder
    target.mkdir(exist_ok=True)
    for file in files:
        if file.suffix == ".md":
            text = file.read_text(encoding="utf-8")
            (target / file.name).write_text(re.sub(r"\]\((?:\.\./)+docs/", "](../", text), encoding="utf-8")
        else:
            shutil.copyfile(file, target / file.name)


def write_gallery(folder: Path) -> None:
    """Write the page of the executed notebooks: a card for each, with its title, its first words and a picture."""
    cards = []
    for file in sorted(folder.glob("*.ipynb")):
        cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
        title, words = "".join(cells[0]["source"]).removeprefix("# ").split("\n\n")[:2]
        pictures = [
            output["data"]["image/png"]
            for cell in cells
            for output in cell.get("outputs", [])
            if "image/png" in output.get("data", {})
        ]
        (folder / f"{file.stem}.png").write_bytes(base64.b64decode(max(pictures, key=len)))
        cards.append(CARD.format(title=title, name=file.stem, words=words))
    (folder / "index.md").write_text(GALLERY.format(cards="\n".join(cards)), encoding="utf-8")


CARD = """\
:::{{grid-item-card}} {title}
:link: {name}
:link-type: doc
:img-bottom: {name}.png
{words}
:::
"""
GALLERY = """\
# Gallery

Notebooks with their outputs, as they were executed. A test executes them again and compares.

::::{{grid}} 1 1 2 2
:gutter: 3

{cards}
::::

```{{toctree}}
:hidden:
:glob:

*
```
"""

# A page that is gone from the repository would stay on the site.
for folder in ("gallery", "paper", "study"):
    shutil.rmtree(HERE / folder, ignore_errors=True)
copy_in("gallery", sorted((ROOT / "notebooks").glob("*.ipynb")))
copy_in("paper", sorted(file for file in (ROOT / "paper" / "pages").glob("*") if file.is_file()))
for study in ("study", "study/fourth_edition"):
    copy_in(study, sorted(file for file in (ROOT / study).glob("*") if file.suffix in SHOWN))
write_gallery(HERE / "gallery")
pages = runpy.run_path(str(HERE / "pages.py"))
for page in ("methods", "options"):
    (HERE / f"{page}.md").write_text(pages[f"{page}_page"](), encoding="utf-8")
del pages  # the configuration is pickled


def skip_properties(app, what, name, obj, skip, options):
    """A class's docstring names its properties where they matter, and the fields of a named tuple."""
    is_field = type(obj).__name__ == "_tuplegetter"
    return skip or is_field or isinstance(obj, property) or name.startswith("_")


def existing(app, env, node, content):
    """A docstring may name what has no page of its own, if it exists: it is shown without a link."""
    target, module, cls = node["reftarget"].replace("pd.", "pandas."), node.get("py:module"), node.get("py:class")
    for prefix in ("", f"{module}.", f"{module}.{cls}.", "scarf_lightning."):
        with suppress(ImportError, AttributeError, ValueError):
            resolve_name(prefix + target)
            return content
    return None


def setup(app):
    app.connect("autodoc-skip-member", skip_properties)
    app.connect("missing-reference", existing)
