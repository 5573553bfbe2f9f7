"""Residual networks for tables: ResNet and FT-Transformer (Gorishniy et al. 2021, https://arxiv.org/abs/2106.11959)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from ..options.option import option
from . import BatchNorm, Columns, Dropout, Network, SomeColumns


@dataclass
class Residual(Network):
    """Blocks that are added to their inputs. ``method=dropout`` replaces ``hidden_dropout``."""

    width: int = option(192, "units of a layer", "[1, 100000]")
    depth: int = option(2, "number of blocks", "[1, 1000]")
    hidden_factor: float = option(2.0, "width of a block's hidden layer, divided by width", "(0, 1000]")
    hidden_dropout: float = option(0.15, "dropout rate after a block's first layer", "[0, 1)")
    residual_dropout: float = option(0.0, "dropout rate before a block is added to its input", "[0, 1)")

    def __post_init__(self) -> None:
        super().__post_init__()
        # As wide as a whole unit at least: int() would round down to none.
        if not self.width * self.hidden_factor >= 1:
            raise ValueError(f"hidden_factor must leave a hidden layer of at least one unit, not {self.hidden_factor}")

    @property
    def hidden(self) -> int:
        """The width of a block's hidden layer."""
        return int(self.width * self.hidden_factor)

    def dropouts(self, rate: float | None) -> tuple[Dropout, Dropout]:
        """A block's layers of hidden and of residual dropout; ``rate`` is that of ``method=dropout``."""
        hidden_rate = self.hidden_dropout if rate is None else rate
        return Dropout(hidden_rate), Dropout(self.residual_dropout)


class ResNetBlock(nn.Module):
    """x + Dropout(Linear(Dropout(ReLU(Linear(BatchNorm(x)))))).

    **Shape.** Input and output ``(..., N, width)``.
    """

    def __init__(self, options: Residual, dropout: float | None) -> None:
        super().__init__()
        self.norm = BatchNorm(options.width)
        self.widen = nn.Linear(options.width, options.hidden)
        self.narrow = nn.Linear(options.hidden, options.width)
        self.hidden_dropout, self.residual_dropout = options.dropouts(dropout)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.widen(self.norm(x)).relu()
        change = self.narrow(self.hidden_dropout(hidden))
        out: Tensor = x + self.residual_dropout(change)
        return out


@dataclass
class ResNet(Residual):
    """A linear layer, ``depth`` blocks, and ReLU(BatchNorm(x)): the paper's network before its last linear layer.

    Differs from the paper: the defaults are the example of the authors' package `rtdl_revisiting_models`.

    Source: section 3.2. Batch statistics of pre-training are taken over all views of a mini-batch at once. Validation
    and test use the running ones.
    """

    name: ClassVar[str] = "resnet"
    label: ClassVar[str] = "ResNet"
    paper: ClassVar[str] = "Gorishniy et al., 2021, arXiv:2106.11959"
    typical_cost: ClassVar[float] = 1.5

    def build(self, columns: Columns, dropout: float | None) -> nn.Module:
        layers: list[nn.Module] = [nn.Linear(columns.n_encoded, self.width)]
        for _ in range(self.depth):
            layers.append(ResNetBlock(self, dropout))
        layers += [BatchNorm(self.width), nn.ReLU()]
        return nn.Sequential(*layers)


class FeatureTokenizer(nn.Module):
    """A [CLS] token, then a token for each feature: T_j = b_j + x_j W_j, where x_j is a number or one-hot columns.

    **Shape.** Encoded rows ``(..., N, D)`` to tokens ``(..., N, 1 + M, width)``: [CLS], the numeric features, the
    categorical ones.
    """

    def __init__(self, columns: Columns, width: int) -> None:
        super().__init__()
        self.numeric = SomeColumns(columns.numeric)
        self.categorical = columns.categorical
        n_numeric = len(self.numeric)
        # The order of these draws is part of a trial's initial weights.
        self.cls = _initial_tokens(1, width)
        self.numeric_weight = _initial_tokens(n_numeric, width)
        self.numeric_bias = _initial_tokens(n_numeric, width)
        self.category_weight = _initial_tokens(columns.n_encoded - n_numeric, width)
        self.category_bias = _initial_tokens(len(self.categorical), width)

    def forward(self, x: Tensor) -> Tensor:
        parts = [self.cls.expand(*x.shape[:-1], 1, -1)]
        if self.numeric:
            # Without categories all columns are numbers, and picking them would copy the batch.
            numbers = self.numeric(x) if self.categorical else x
            factors = numbers.unsqueeze(-1)
            parts.append(torch.addcmul(self.numeric_bias, factors, self.numeric_weight))
        if self.categorical:
            sizes = [part.stop - part.start for part in self.categorical]
            weights = torch.split(self.category_weight, sizes)
            tokens = []
            for part, weight in zip(self.categorical, weights, strict=True):
                token = _times(x[..., part], weight)
                tokens.append(token)
            category_tokens = torch.stack(tokens, dim=-2)
            parts.append(category_tokens + self.category_bias)
        return torch.cat(parts, dim=-2)


def _initial_tokens(rows: int, width: int) -> nn.Parameter:
    """Tokens or their factors, ``(rows, width)``, uniform on ±1 / sqrt(width)."""
    bound = 1 / math.sqrt(width)
    return nn.Parameter(torch.empty(rows, width).uniform_(-bound, bound))


def _times(x: Tensor, weight: Tensor) -> Tensor:
    """Their product. A single column is broadcast, because the product of one column rounds on another path."""
    if x.shape[-1] == 1:
        return x * weight
    return x @ weight


class Attention(nn.Module):
    """Multi-head self-attention (Vaswani et al. 2017, https://arxiv.org/abs/1706.03762), with dropout of its weights.

    **Shape.** Query tokens ``(..., Q, width)`` and key tokens ``(..., S, width)`` to ``(..., Q, width)``.
    """

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        for layer in (self.query, self.key, self.value, self.out):
            nn.init.zeros_(layer.bias)
        self.dropout = Dropout(dropout)

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        query = self._split_heads(self.query(queries))
        key = self._split_heads(self.key(keys))
        value = self._split_heads(self.value(keys))
        # Scaled by the root of a head's width, or the softmax would be sharper the wider the head is.
        scaled_query = query / math.sqrt(query.shape[-1])
        weights = (scaled_query @ key.mT).softmax(dim=-1)
        # Written out, because a fused kernel would draw its dropout masks from a stream that all trials share.
        head_outputs = self.dropout(weights) @ value
        tokens = head_outputs.transpose(-2, -3).flatten(-2)
        out: Tensor = self.out(tokens)
        return out

    def _split_heads(self, tokens: Tensor) -> Tensor:
        """Tokens ``(..., S, width)`` by head, ``(..., heads, S, width / heads)``."""
        head_tokens: Tensor = tokens.unflatten(-1, (self.heads, -1))  # type: ignore[no-untyped-call]
        return head_tokens.transpose(-2, -3)


class TransformerBlock(nn.Module):
    """x + Attention(LayerNorm(x)), then x + Linear(Dropout(ReGLU(Linear(LayerNorm(x))))).

    **Shape.** Tokens ``(..., S, width)`` to ``(..., S, width)``; with ``n_queries=q`` of the first q alone.
    The first block of a network has no LayerNorm before the attention: it makes optimisation harder (section 3.3).
    """

    def __init__(self, options: "FTTransformer", dropout: float | None, *, first: bool) -> None:
        super().__init__()
        width, hidden = options.width, options.hidden
        self.attention_norm = nn.Identity() if first else nn.LayerNorm(width)
        self.attention = Attention(width, options.heads, options.attention_dropout)
        self.norm = nn.LayerNorm(width)
        # Half of the wide layer is the gate of the other half (ReGLU).
        self.widen = nn.Linear(width, 2 * hidden)
        self.narrow = nn.Linear(hidden, width)
        self.hidden_dropout, self.residual_dropout = options.dropouts(dropout)

    def forward(self, x: Tensor, n_queries: int | None = None) -> Tensor:
        tokens = self.attention_norm(x)
        queries = tokens[..., :n_queries, :]
        attention_output = self.attention(queries, tokens)
        # Tokens without a query serve the others as keys, and end here.
        x = x[..., :n_queries, :] + self.residual_dropout(attention_output)
        wide = self.widen(self.norm(x))
        linear, gate = wide.chunk(2, dim=-1)
        hidden = self.hidden_dropout(linear * gate.relu())
        change = self.narrow(hidden)
        out: Tensor = x + self.residual_dropout(change)
        return out


class FTTransformerEncoder(nn.Module):
    """Tokens, blocks, and ReLU(LayerNorm) of the last [CLS].

    **Shape.** Encoded rows ``(..., N, D)`` to embeddings ``(..., N, width)``.
    """

    def __init__(self, tokenizer: FeatureTokenizer, blocks: list[TransformerBlock], width: int) -> None:
        super().__init__()
        self.tokenizer = tokenizer
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.tokenizer(x)
        # The last block computes what is used, and no more.
        *blocks, last = self.blocks
        for block in blocks:
            tokens = block(tokens)
        # Only [CLS] is used. A second token is computed with it because a product of one row rounds on another path.
        cls = last(tokens, n_queries=2)[..., 0, :]
        out: Tensor = self.norm(cls).relu()
        return out


@dataclass
class FTTransformer(Residual):
    """A feature tokenizer, ``depth`` pre-norm blocks with ReGLU, and ReLU(LayerNorm) of [CLS]; E is ``width``.

    Differs from the paper: its default is three blocks of width 192 with ``attention_dropout`` 0.2 and
    ``hidden_dropout`` 0.1. Ours is small enough for one processor core: two blocks of width 64, with the dropout that
    the authors' package has for two blocks. Both lie in the paper's search space. The authors train by AdamW with
    learning rate 1e-4 and weight decay 1e-5, none for the tokenizer, the LayerNorms and the biases; here it is trained
    as every other network, by ``pretrain.*`` and ``finetune.*``.

    Source: section 3.3.
    """

    name: ClassVar[str] = "ft_transformer"
    label: ClassVar[str] = "FT-Transformer"
    paper: ClassVar[str] = "Gorishniy et al., 2021, arXiv:2106.11959"
    typical_cost: ClassVar[float] = 15.0
    costs_by_column: ClassVar[bool] = True
    width: int = option(64, "width of a token and of an embedding", "[2, 100000]")
    heads: int = option(8, "attention heads; they divide the width", "[1, 1000]")
    hidden_factor: float = 1.3333333333333333
    attention_dropout: float = option(0.15, "dropout rate of attention weights", "[0, 1)")
    hidden_dropout: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        # Heads of width one would be products of one column, which round on another path.
        if self.width % self.heads or self.width < 2 * self.heads:
            raise ValueError(f"width must be a multiple of heads={self.heads}, twice it or more, not {self.width}")

    def build(self, columns: Columns, dropout: float | None) -> nn.Module:
        blocks = []
        for position in range(self.depth):
            blocks.append(TransformerBlock(self, dropout, first=position == 0))
        tokenizer = FeatureTokenizer(columns, self.width)
        return FTTransformerEncoder(tokenizer, blocks, self.width)
