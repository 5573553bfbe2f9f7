"""What pyproject.toml cannot say: `conf/` and `sweeps/` stand beside the package, and travel inside it in a wheel."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

FOLDERS = ("conf", "sweeps")


class BuildWithConfiguration(build_py):
    """Puts the folders into the built package; an editable install finds them where they are."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            for folder in FOLDERS:
                inside = Path(self.build_lib) / "scarf_lightning" / folder
                shutil.rmtree(inside, ignore_errors=True)
                shutil.copytree(folder, inside)


setup(cmdclass={"build_py": BuildWithConfiguration})
