import pytest
import torch
import torch.nn.functional as F
from torch import nn

from scarf_lightning.networks import BatchNorm, Columns, Dropout, Network
from scarf_lightning.networks.residual import FTTransformer, ResNet
from tests.networks.in_a_stack import KINDS_OF_TABLES, assert_alone_is_among, assert_lifted_is_a_loop, make_table

COLUMNS = Columns((0, 3, 1, 0))
SMALL = {"width": 12, "heads": 3}
SURE = {"attention_dropout": 0.0, "hidden_dropout": 0.0}


@pytest.mark.parametrize(
    ("network", "kind"),
    [
        (FTTransformer(**SMALL, depth=1), "two constants"),
        pytest.param(FTTransformer(**SMALL), "every kind of column", marks=pytest.mark.slow),
        (ResNet(width=12, hidden_factor=1.7), "every kind of column"),
        (ResNet(width=1, depth=1), "two constants"),
    ],
)
def test_a_trial_alone_is_that_trial_among_three(network: Network, kind: str) -> None:
    assert_alone_is_among(network, make_table(KINDS_OF_TABLES[kind]))


@pytest.mark.parametrize("kind", KINDS_OF_TABLES)
@pytest.mark.parametrize("network", [FTTransformer(**SMALL, **SURE), ResNet(width=6, depth=2, hidden_dropout=0.0)])
def test_it_is_a_loop_over_single_networks(network: Network, kind: str) -> None:
    assert_lifted_is_a_loop(network, Columns(KINDS_OF_TABLES[kind]))


def test_it_is_the_authors_package() -> None:
    """`rtdl_revisiting_models`, given the same weights; it takes category numbers where ours takes columns."""
    authors = pytest.importorskip("rtdl_revisiting_models")
    theirs = authors.FTTransformer(
        n_cont_features=2, cat_cardinalities=[3, 1], d_out=None, n_blocks=2, d_block=12, attention_n_heads=3,
        attention_dropout=0.0, ffn_d_hidden_multiplier=4 / 3, ffn_dropout=0.0, residual_dropout=0.0,
    )  # fmt: skip
    ours = FTTransformer(**SMALL, **SURE).build(COLUMNS, None)
    with torch.no_grad():
        theirs.cls_embedding.weight.copy_(ours.tokenizer.cls[0])
        theirs.cont_embeddings.weight.copy_(ours.tokenizer.numeric_weight)
        theirs.cont_embeddings.bias.copy_(ours.tokenizer.numeric_bias)
        for embedding, weight in zip(
            theirs.cat_embeddings.embeddings, ours.tokenizer.category_weight.split([3, 1]), strict=True
        ):
            embedding.weight.copy_(weight)
        theirs.cat_embeddings.bias.copy_(ours.tokenizer.category_bias)
        for block, other in zip(ours.blocks, theirs.backbone.blocks, strict=True):
            for name, theirs_name in (("query", "W_q"), ("key", "W_k"), ("value", "W_v"), ("out", "W_out")):
                layer = getattr(other["attention"], theirs_name)
                layer.load_state_dict(getattr(block.attention, name).state_dict())
            other["ffn"].linear1.load_state_dict(block.widen.state_dict())
            other["ffn"].linear2.load_state_dict(block.narrow.state_dict())
    numbers, codes = torch.randn(9, 2), torch.stack([torch.arange(9) % 3, torch.zeros(9, dtype=torch.int64)], dim=1)
    x = torch.cat([numbers[:, :1], F.one_hot(codes[:, 0], 3), torch.ones(9, 1), numbers[:, 1:]], dim=1)

    expected = F.layer_norm(theirs(numbers, codes), (12,)).relu()

    torch.testing.assert_close(ours(x), expected)


@pytest.mark.parametrize(
    ("network", "usual", "chosen"),
    [
        (FTTransformer(depth=1), [0.15, 0.05, 0.0], [0.15, 0.4, 0.0]),
        (ResNet(depth=1), [0.15, 0.0], [0.4, 0.0]),
    ],
)
def test_the_method_dropout_sets_the_rate_of_hidden_units(
    network: Network, usual: list[float], chosen: list[float]
) -> None:
    for dropout, expected in ((None, usual), (0.4, chosen)):
        modules = network.build(COLUMNS, dropout).modules()
        assert [part.rate for part in modules if isinstance(part, Dropout)] == expected


TABLE = Columns((0, 3, 0))


def torchs(norm: BatchNorm) -> nn.BatchNorm1d:
    """The built-in layer in the state of ours."""
    layer = nn.BatchNorm1d(len(norm.weight)).double().train(norm.training)
    layer.load_state_dict(
        {
            "weight": norm.weight,
            "bias": norm.bias,
            "running_mean": norm.mean,
            "running_var": norm.variance,
            "num_batches_tracked": torch.tensor(1),
        }
    )
    return layer


@pytest.mark.parametrize("training", [True, False])
def test_a_resnet_is_the_papers_equations(training: bool) -> None:
    """Section 3.2, with torch's own batch normalisation."""
    module = ResNet(width=6, depth=2, hidden_factor=1.5, hidden_dropout=0.0).build(TABLE, None).double()
    x = torch.randn(20, TABLE.n_encoded, dtype=torch.float64)
    module(x + 1)  # moves the running statistics from where they start
    first, *blocks, norm, _ = module.train(training)
    assert len(blocks) == 2

    expected = first(x)
    for block in blocks:
        hidden = nn.functional.linear(torchs(block.norm)(expected), block.widen.weight, block.widen.bias).relu()
        assert hidden.shape == (20, 9)
        expected = expected + nn.functional.linear(hidden, block.narrow.weight, block.narrow.bias)
    expected = torchs(norm)(expected).relu()

    torch.testing.assert_close(module(x), expected, rtol=1e-12, atol=1e-12)
