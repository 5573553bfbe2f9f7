"""Breast cancer Wisconsin (diagnostic) as scikit-learn ships it, in the form of OpenML dataset 1510."""

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from .base import Source

if TYPE_CHECKING:
    from ..table import Table


@dataclass
class WdbcSource(Source):
    """The embedded default dataset: no network, 569 rows, 30 numeric columns, two classes.

    Column names ``V1`` to ``V30`` and classes ``1`` (benign) and ``2`` (malignant) are those of
    https://www.openml.org/d/1510. Copies of that dataset may round values otherwise; to the store those are other data.
    """

    name: ClassVar[str] = "wdbc"
    dataset_id: ClassVar[int] = 1510

    dataset_name: str = "wdbc"

    @property
    def key(self) -> str:
        return "wdbc"

    def files(self) -> tuple[Path, ...]:
        found = importlib.util.find_spec("sklearn")
        if found is None or found.origin is None:
            return ()
        path = Path(found.origin).parent / "datasets" / "data" / "breast_cancer.csv"
        return (path,) if path.exists() else ()

    def load(self) -> "Table":
        from sklearn.datasets import load_breast_cancer

        from ..table import Table

        bundle = load_breast_cancer(as_frame=True)
        features = bundle.data.set_axis([f"V{i + 1}" for i in range(bundle.data.shape[1])], axis=1)
        malignant = bundle.target == list(bundle.target_names).index("malignant")
        return Table.from_frame(
            features,
            malignant.map({False: "1", True: "2"}).rename("Class"),
            categorical=[False] * features.shape[1],
            name=self.dataset_name,
            source="scikit-learn:breast_cancer",
            dataset_id=self.dataset_id,
        )
