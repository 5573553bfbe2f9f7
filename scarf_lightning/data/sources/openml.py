"""Datasets of OpenML, through its own client and the client's cache."""

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import UsageError
from ...importing import require
from ...options.settings import expanded
from .source import Source

if TYPE_CHECKING:
    from ..table import Table

SERVER, CACHED = "https://www.openml.org/api/v1/xml", "org/openml/www/datasets"
"""An id names a dataset on this server only, so that another server in the client's own settings is not used; and the
folder of its datasets in a cache."""


@dataclass(frozen=True)
class OpenMLSource(Source):
    """A dataset of https://www.openml.org, from the client's cache, or else downloaded into it.

    The client writes into its cache: downloads, and pickles of the data that are never read here.

    Args:
        dataset_id: the number in https://www.openml.org/d/N.
        cache: the folder that holds ``org/openml/www``; None takes the client's own.
    """

    name: ClassVar[str] = "openml"

    dataset_id: int
    cache: Path | None = None

    @property
    def key(self) -> str:
        return "-".join(filter(None, ["openml", str(self.dataset_id), self.target_kind]))

    @property
    def in_words(self) -> str:
        return f"OpenML dataset {self.dataset_id}"

    def check(self) -> None:
        require("openml", self.in_words)

    def files(self) -> tuple[Path, ...]:
        folder = root_of(self.cache) / CACHED / str(self.dataset_id)
        # The client takes Parquet where it is there.
        parquet = folder / f"dataset_{self.dataset_id}.pq"
        return folder / "description.xml", parquet if parquet.is_file() else folder / "dataset.arff"

    def load(self) -> "Table":
        """Read the dataset, without any connection if the cache has it.

        Raises:
            UsageError: the client cannot read or download it; or it has no target, or one that cannot be predicted.
        """
        from ..table import Table
        from ..targets import read_target

        dataset, frame, is_categorical = self._read()
        source, target = f"openml:{self.dataset_id}", str(dataset.default_target_attribute or "")
        # Ignored columns are not in it.
        if target not in frame:
            raise UsageError(f"{self.in_words} has no target {target!r} among its columns; choose another one.")
        read = read_target(frame.pop(target), source, self.target_kind)
        return Table.from_frame(
            frame,
            read,
            categorical=[is_categorical[column] for column in frame],
            name=self.dataset_name or dataset.name,
            source=source,
            dataset_id=self.dataset_id,
        )

    def _read(self) -> tuple[Any, Any, dict[Any, bool]]:
        """The client's dataset, the frame of its columns but ignored ones, and whether each is categorical.

        Raises:
            UsageError: the client's error in a sentence.
        """
        require("openml", self.in_words)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import openml

            # By default a command without a network tries for a minute.
            settings = {"server": SERVER, "retry_policy": "human", "connection_n_retries": 1}
            # The client restores its settings only if no error leaves the context.
            with openml.config.overwrite_config_context(settings):
                openml.config.set_root_cache_directory(root_of(self.cache))
                try:
                    return self._from_client()
                except Exception as error:
                    failure = error
        if isinstance(failure, UsageError):
            raise failure
        reason = (str(failure).splitlines() or [type(failure).__name__])[0].rstrip(".!")
        raise UsageError(
            f"{self.in_words} cannot be read ({reason}); make sure that it exists, that www.openml.org can be "
            f"reached and that you may write into {root_of(self.cache)}, delete a damaged copy there, or set "
            "paths.openml to a cache that has it."
        ) from failure

    def _from_client(self) -> tuple[Any, Any, dict[Any, bool]]:
        import openml

        _, file = self.files()
        is_cached = file.is_file()
        dataset = openml.datasets.get_dataset(
            self.dataset_id,
            download_data=not is_cached,
            download_qualities=False,
            # The data say the same, and a cache may lack it.
            download_features_meta_data=False,
        )
        # The client would ask the server for Parquet before it takes ARFF from the cache.
        if is_cached:
            setattr(dataset, "parquet_file" if file.suffix == ".pq" else "data_file", str(file))
        if dataset.parquet_file is None and dataset.format.lower() == "sparse_arff":
            raise UsageError(f"{self.in_words} comes as sparse ARFF alone, whose classes the client cannot read.")
        # A pickle of another version of pandas, or of other data, would go before the file.
        dataset.data_pickle_file = None
        frame: Any
        frame, _, categorical, _ = dataset.get_data()
        return dataset, frame, dict(zip(frame.columns, categorical, strict=True))


def root_of(cache: Path | None) -> Path:
    """A cache, or the client's own, found without importing the client, which takes over a second."""
    own = os.environ.get("XDG_CACHE_HOME", "~/.cache") + "/openml"
    return cache or expanded(os.environ.get("OPENML_CACHE_DIR") or own)
