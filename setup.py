"""What pyproject.toml cannot say: folders that a wheel carries, and absolute links in the README of the index."""

import re
import shutil
import tomllib
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
FOLDERS = ("conf", "sweeps")
LINK = re.compile(r"""(?P<before>\]\(|(?:src|href)=")(?!https?:|#)(?P<target>[^)"]+)""")
TEXT_OF_LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|#)[^)]+\)")
PICTURE = re.compile(r'<img src="(?!https?:)[^>]*>')


class BuildWithConfiguration(build_py):
    """Puts `conf/` and `sweeps/` into the built package; an editable install finds them where they are."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            for folder in FOLDERS:
                inside = Path(self.build_lib) / "scarf_lightning" / folder
                shutil.rmtree(inside, ignore_errors=True)
                shutil.copytree(folder, inside)


def index_page(readme: str, home: str | None) -> str:
    """The README for the package index, where a relative link leads nowhere.

    Links are made absolute with the address of the repository. As long as it has none, they are left out.
    """
    if home is None:
        return TEXT_OF_LINK.sub(r"\1", PICTURE.sub("", readme))

    def absolute(link: re.Match[str]) -> str:
        kind = "raw" if link["target"].endswith((".png", ".svg")) else "blob"
        return f"{link['before']}{home}/{kind}/main/{link['target']}"

    return LINK.sub(absolute, readme)


setup(
    cmdclass={"build_py": BuildWithConfiguration},
    long_description=index_page(
        (ROOT / "README.md").read_text(encoding="utf-8"),
        tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"].get("Homepage"),
    ),
    long_description_content_type="text/markdown",
)
