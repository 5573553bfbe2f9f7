"""Methods of one or two fits that change what a training step sees or minimises (paper, section 4)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from ..corruption import Corruption, Selection
from ..losses.loss import bitempered
from ..options.option import option, part_name
from ..pretexts import Pretext, Rows
from ..randomness import Purpose, StackedGenerator
from . import Method, MethodResult, SingleFitMethod, SupervisedPhase

if TYPE_CHECKING:
    from ..data.datamodule import Examples
    from ..engine.stack import Stack


@dataclass
class Control(SingleFitMethod):
    """Cross-entropy, or squared error of numbers, on the labelled training rows."""

    name: ClassVar[str] = "control"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"


@dataclass
class Dropout(SingleFitMethod):
    """Dropout after all layers of f and the hidden ones of h, in the supervised phase."""

    name: ClassVar[str] = "dropout"
    paper: ClassVar[str] = "Srivastava et al., 2014 (JMLR)"
    rate: float = option(0.04, "share of the units to drop", "[0, 1)")

    @property
    def dropout_rate(self) -> float:
        return self.rate


@dataclass
class LabelSmoothing(SingleFitMethod):
    """Cross-entropy on (1 - smoothing) y + smoothing / C, in place of ``finetune.label_smoothing``."""

    name: ClassVar[str] = "label_smoothing"
    smooths_labels: ClassVar[bool] = True
    paper: ClassVar[str] = "Szegedy et al., 2016, arXiv:1512.00567"
    targets: ClassVar[tuple[str, ...]] = ("classes",)
    why_not: ClassVar[str] = "it spreads probability over classes, and a number has none"
    smoothing: float = option(0.1, "weight of the uniform distribution over classes", "[0, 1]")

    def examples(self, stack: "Stack") -> "Examples":
        hard = stack.table.target.soft(stack.data.labels)
        uniform = self.smoothing / hard.shape[-1]
        # Smoothed once: these targets are the same in every step.
        targets = (1 - self.smoothing) * hard + uniform
        return stack.examples(stack.data.labelled, targets)


@dataclass
class Bitempered(SingleFitMethod):
    """The bi-tempered logistic loss: bounded by t1 < 1, heavy-tailed by t2 > 1."""

    name: ClassVar[str] = "bitempered"
    label: ClassVar[str] = "bi-tempered loss"
    paper: ClassVar[str] = "Amid et al., 2019, arXiv:1906.03361"
    targets: ClassVar[tuple[str, ...]] = ("classes",)
    why_not: ClassVar[str] = "its loss tempers a softmax over classes"
    t1: float = option(0.8, "temperature of the logarithm; 1 is cross-entropy", "[0, 1]")
    t2: float = option(1.2, "temperature of the exponential; 1 is softmax", "[1, inf)")
    iterations: int = option(5, "iterations of the normalisation", "[1, 10000]")

    def compute_loss(self, logits: Tensor, targets: Tensor, weights: Tensor | None) -> Tensor:
        return bitempered(logits, targets, weights, t1=self.t1, t2=self.t2, iterations=self.iterations)


@dataclass
class Mixup(SingleFitMethod):
    """The target's loss on l x + (1 - l) x' and l y + (1 - l) y'.

    x' is another row of the mini-batch, and l ~ Beta(alpha, alpha) is drawn for each mini-batch of a trial. Encoded
    rows, labels and weights are mixed.
    """

    name: ClassVar[str] = "mixup"
    paper: ClassVar[str] = "Zhang et al., 2018, arXiv:1710.09412"
    stream: ClassVar[str] = Purpose.MIXUP
    is_folded: ClassVar[bool] = False
    alpha: float = option(0.2, "parameter of the Beta distribution of the shares", "(0, inf)")

    def examples(self, stack: "Stack") -> "Examples":
        # A mixture of two classes is no class, so labels are probabilities from the start.
        return stack.examples(stack.data.labelled, stack.table.target.soft(stack.data.labels))

    def make_batch(self, rows: Rows, targets: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        x = rows.encoded
        # Outside a captured step, which cannot wait for the host.
        share = rows.random.outside(lambda: self._share(rows.random, x.dtype))
        partner = rows.random.permutations(x.shape[-2])
        if weights is not None:
            # `_mix` takes rows with features.
            weights = _mix(weights.unsqueeze(-1), share, partner).squeeze(-1)
        return _mix(x, share, partner), _mix(targets, share, partner), weights

    def _share(self, random: StackedGenerator, dtype: torch.dtype) -> Tensor:
        """l, ``(..., 1, 1)``, by the inverse of the Beta distribution. The host computes it and waits for no device."""
        from scipy.special import betaincinv

        # scipy computes in the type that it gets, and float32 is too coarse for shares near 0 and 1.
        quantiles = random.host_streams.uniform(1, 1).double().numpy()
        shares = betaincinv(self.alpha, self.alpha, quantiles)
        return torch.from_numpy(shares).to(dtype).to(random.device, non_blocking=True)


def _mix(x: Tensor, share: Tensor, partner: Tensor) -> Tensor:
    """``share`` ``(..., 1, 1)`` of rows ``(..., N, E)``, and the rest of the rows at ``partner`` ``(..., N)``."""
    index = partner.unsqueeze(-1).expand(x.shape)
    return share * x + (1 - share) * x.gather(-2, index)


@dataclass
class ScarfAugment(SingleFitMethod):
    """The target's loss on corrupted views of the labelled training rows, without pre-training (section 4)."""

    name: ClassVar[str] = "scarf_augment"
    label: ClassVar[str] = "SCARF augmentation"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"
    pretrainable: ClassVar[bool] = False
    corruption: Corruption
    selection: Selection

    def make_batch(self, rows: Rows, targets: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        return rows.corrupted(self.corruption, self.selection)[0], targets, weights

    @property
    def learns_missing_values(self) -> bool:
        return self.corruption.learns_missing_values


@dataclass
class Cotrain(SingleFitMethod):
    """The target's loss on the labelled training rows, plus a weighted pretext loss on the same batches.

    The axis ``cotrain`` chooses the pretext, with a corruption and a loss of its own, and the weight.
    """

    name: ClassVar[str] = "cotrain"
    label: ClassVar[str] = "co-training"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"
    is_folded: ClassVar[bool] = False
    pretext: Pretext
    weight: float = part_name(1.0)

    @property
    def auxiliary(self) -> tuple[Pretext, float]:
        return self.pretext, self.weight

    @property
    def learns_missing_values(self) -> bool:
        return self.pretext.learns_missing_values


@dataclass
class Distill(Method):
    """Self-distillation: a first model on the labelled rows, then a second one, from the same pre-trained
    f, on labelled and unlabelled rows with the first one's predictions as targets for all."""

    name: ClassVar[str] = "distill"
    label: ClassVar[str] = "distillation"
    paper: ClassVar[str] = "Hinton et al., 2015, arXiv:1503.02531"
    typical_fits: ClassVar[int] = 2

    def run(self, stack: "Stack", phase: SupervisedPhase) -> MethodResult:
        # The first uses hard labels, the second has the probabilities of the first for targets.
        first, teacher = phase.fit(stack, stack.labelled(), self, number=1)
        # The teacher labels all rows, those with a label too.
        soft = stack.predict(teacher, stack.data.usable)
        fit, classifier = phase.fit(stack, stack.examples(stack.data.usable, soft), self)
        return MethodResult.of_fits(stack.predict(classifier, stack.data.test), fit, [first])
