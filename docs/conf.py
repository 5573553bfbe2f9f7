"""The documentation site: ``make docs`` builds it, without a network, and any warning is an error."""

import re
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
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
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
html_theme_options = {"navigation_with_keys": True}


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


copy_in("gallery", sorted((ROOT / "notebooks").glob("*.ipynb")))
copy_in("paper", sorted(file for file in (ROOT / "paper" / "pages").glob("*") if file.is_file()))
copy_in("study", sorted(file for file in (ROOT / "study").glob("*") if file.suffix in (".md", ".png", ".svg")))


def skip_properties(app, what, name, obj, skip, options):
    """A class's docstring names its properties where they matter."""
    return skip or isinstance(obj, property) or name.startswith("_")


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
