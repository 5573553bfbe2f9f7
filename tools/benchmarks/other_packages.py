"""Steps of public implementations of SCARF, where they are importable: no dependency of this package."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
from torch.utils.data import default_collate

N_ROWS, BATCH = 1280, 128


@cache
def ts3l_step(n_features: int) -> Callable[[], None]:
    """A step of the package ts3l's SCARF: 128 rows by its dataset, forward, backward and AdamW; encoder 4 x 256."""
    from ts3l.pl_modules import SCARFLightning
    from ts3l.utils.backbone_utils import MLPBackboneConfig
    from ts3l.utils.embedding_utils import IdentityEmbeddingConfig
    from ts3l.utils.scarf_utils import SCARFConfig, SCARFDataset

    config = SCARFConfig(
        task="classification",
        loss_fn="CrossEntropyLoss",
        metric="accuracy_score",
        embedding_config=IdentityEmbeddingConfig(input_dim=n_features),
        backbone_config=MLPBackboneConfig(
            input_dim=n_features, hidden_dims=256, n_hiddens=4, output_dim=256, use_batch_norm=False
        ),
        output_dim=2,
        pretraining_head_dim=256,
        dropout_rate=0.0,
        tau=1.0,
        corruption_rate=0.6,
    )
    module = SCARFLightning(config)
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(N_ROWS, n_features)))
    rows = SCARFDataset(frame, config=config, continuous_cols=list(frame.columns), category_cols=[])
    optimizer = module.optim(module.model.parameters(), **module.optim_hparams)

    def step() -> None:
        batch = default_collate([rows[row] for row in random.integers(N_ROWS, size=BATCH)])
        loss = module._get_first_phase_loss(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step
