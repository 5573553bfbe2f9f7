"""Pre-training, co-training and fine-tuning for Lightning's own loop.

    >>> import pytorch_lightning as pl
    >>> from scarf_lightning.lightning import FinetuneModule, PretrainModule, TableDataModule
    >>> data = TableDataModule("customers.csv", "plan")
    >>> pretraining = PretrainModule(corruption="marginal")
    >>> pl.Trainer(max_epochs=20).fit(pretraining, data)
    >>> finetuning = FinetuneModule(encoder=pretraining.encoder)
    >>> trainer = pl.Trainer(max_epochs=20)
    >>> trainer.fit(finetuning, data)
    >>> trainer.test(finetuning, data)

The networks, losses and batches are those that every cell is trained with.
"""

from .datamodules import OpenMLDataModule, TableDataModule
from .modules import CotrainModule, FinetuneModule, PretrainModule, Probe

__all__ = ["CotrainModule", "FinetuneModule", "OpenMLDataModule", "PretrainModule", "Probe", "TableDataModule"]
