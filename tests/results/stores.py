"""Stores that earlier commits of the package wrote, each in ``stores/COMMIT.zip``.

Each commit trained these cells, in a folder with ``people.csv``, with ``trainer=cpu trials=2`` and, where a network is
trained, ``network.encoder.width=16 network.encoder.depth=1 network.head.width=16 finetune.max_epochs=2``:

    pretrain=none,scarf corruption.rate=0.5 network.pretrain_head.width=16 pretrain.max_epochs=2
    pretrain=none tune=2 trials=1
    dataset=csv dataset.path=people.csv dataset.target=left pretrain=none keep_weights=true
    dataset=csv dataset.path=people.csv dataset.target=left pretrain=none method=logistic
    dataset=csv dataset.path=people.csv dataset.target=age pretrain=none                     (not 95e55f0)

``expected.csv`` is what its own `load` gave of them, ``probabilities.csv`` what the model in ``model/`` gave the first
five rows, and ``unfitted.pkl`` a pickled estimator. Folders that may be deleted were left out.
"""

from pathlib import Path
from zipfile import ZipFile

STORES = Path(__file__).parent / "stores"
SCHEMA_2 = "95e55f0"
SCHEMA_3 = ("4be86c5", "e116e53")
SCIENCE = {SCHEMA_2: 1} | dict.fromkeys(SCHEMA_3, 2)


def unpacked(commit: str, folder: Path) -> Path:
    """The folder with what a commit left."""
    with ZipFile(STORES / f"{commit}.zip") as packed:
        packed.extractall(folder)
    return folder
