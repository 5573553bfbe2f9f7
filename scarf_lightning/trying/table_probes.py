"""How parts that work on a whole table are tried: methods, metrics, and what prepares a table."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ..data.preprocessing import ZScore
from ..data.trials import Full, TrialData, prepare_trials
from ..engine.hardware import Hardware
from ..metrics import Metric
from ..options.settings import FinetuneSettings
from .bench import N_BATCH, N_TABLE, SEED, Bench, benches, regression_bench
from .call import Call, Output, Probe, WrongError, as_tensor, as_tuple, gradient, numbers, rows_of

SHORT = FinetuneSettings(max_epochs=1, batch_size=16)
"""One epoch is enough to see what a method does to a step."""
FUNCTIONS = {
    "scaling": "statistics",
    "encoding": "column",
    "regime": "apply",
    "split": "of_trial",
}
"""The function that a user writes for a part of an axis."""


class MethodProbe(Probe):
    """A training step, and the predictions after one epoch."""

    returns: ClassVar[Mapping[str, str]] = {
        "examples": "stack.examples(rows, targets)",
        "make_batch": "inputs, targets and weights, a tuple of three",
        "compute_loss": "a tensor (...), an average over rows, or None for the loss of the target",
        "run": "MethodResult.of_fits(predictions, fit)",
        "run_one": "MethodResult.of_fits(predictions, fit)",
    }
    draws: ClassVar[str] = "rows.random.normal(N, M), or stack.streams.torch(stack.trials, NAME)"

    def benches(self, part: Any) -> tuple[Bench, ...]:
        # It imports Lightning.
        from ..methods import SingleFitMethod

        tables = benches()
        # A method that trains by itself takes the time of its fits, and a table with gaps and categories has all.
        if type(part).run is not SingleFitMethod.run:
            tables = tables[1:]
        if part.targets and "classes" not in part.targets:
            tables = tuple(regression_bench(bench) for bench in tables)
        return tables

    def call(self, part: Any, call: Call) -> dict[str, Output]:
        # It imports Lightning.
        from ..engine.stack import Stack
        from ..methods import SingleFitMethod, SupervisedPhase

        bench, sample = call.bench, call.sample
        data = bench.data(len(sample.trials))
        hardware = Hardware(torch.device("cpu"), "32-true")
        stack = Stack(bench.table, data, bench.streams, bench.networks().network, bench.settings, hardware)
        outputs = self._step(part, call, stack) if isinstance(part, SingleFitMethod) else {}
        # The fit of a method of one step is ours. A method of its own trains on a stack, which has an axis of trials.
        if (outputs and type(part).run is SingleFitMethod.run) or not sample.leading:
            return outputs
        name = "run_one" if hasattr(part, "run_one") else "run"
        result = call.run(part.run, stack, SupervisedPhase(SHORT), name=name)
        predictions = getattr(result, "predictions", None)
        if not isinstance(predictions, np.ndarray):
            raise WrongError("gives no MethodResult; end with MethodResult.of_fits(predictions, fit)")
        n_predicted = data.predicted.shape[1]
        if predictions.shape[:2] != (len(sample.trials), n_predicted):
            raise WrongError(
                f"predicts {predictions.shape[:2]} trials and rows, and not ({len(sample.trials)}, {n_predicted}); "
                "predict stack.data.predicted"
            )
        tensor = torch.from_numpy(predictions)
        call.seen = f"predictions of test rows after an epoch: {numbers(tensor)}"
        return {**outputs, "its predictions": Output(tensor)}

    def _step(self, part: Any, call: Call, stack: Any) -> dict[str, Output]:
        """The batch of a training step, and its loss."""
        sample = call.sample
        examples = call.run(part.examples, stack)
        if examples.targets is None:
            raise WrongError("gives examples without targets; take stack.examples(rows, targets)")
        targets = sample.without_axis(examples.targets[:, :N_BATCH])
        weights = sample.without_axis(torch.ones(len(sample.trials), N_BATCH))
        call.given(sample.rows.encoded)
        made, returns = call.run(part.make_batch, sample.rows, targets, weights), self.returned("make_batch")
        batch = as_tuple(made, 3, "its batch", returns)
        encoded = as_tensor(batch[0], "inputs", returns)
        outputs = {"its inputs": Output(encoded, (None, call.bench.columns.n_encoded), function="make_batch")}
        if isinstance(batch[2], Tensor):
            outputs["its weights"] = Output(batch[2], (encoded.shape[-2],), function="make_batch")
        head_outputs = sample.tensor(encoded.shape[-2], call.bench.table.target.n_outputs, seed=200).requires_grad_()
        for name, given in (("its loss", batch[2]), ("its loss without weights", None)):
            loss = call.run(part.compute_loss, head_outputs, batch[1], given)
            # None takes the loss of the target.
            if loss is not None:
                loss = as_tensor(loss, "loss", self.returned("compute_loss"))
                outputs[name] = Output(loss, (), function="compute_loss")
                call.gradients["its inputs"] = gradient(loss, head_outputs)
                call.seen = f"loss {numbers(loss, 1)}; "
        call.seen += f"three rows of a batch: {rows_of(encoded)}"
        rate = part.dropout_rate
        dropout = torch.full(sample.leading, math.nan if rate is None else rate)
        outputs["its rate of dropout"] = Output(dropout, (), "any")
        return outputs


class MetricProbe(Probe):
    """The metric of predictions that are right, that are wrong, and that guess."""

    otherwise: ClassVar[str] = "one number, as by float(...)"
    draws: ClassVar[str] = "np.random.default_rng(0), so that a number is the same each time"
    unit: ClassVar[str] = "call"

    def benches(self, part: Any) -> tuple[Bench, ...]:
        return benches()[:1]

    def call(self, part: Metric, call: Call) -> dict[str, Output]:
        random = np.random.default_rng(SEED)
        is_number = "number" in part.targets
        labels: Any
        if is_number:
            labels = random.normal(size=N_TABLE)
            right, wrong, guess = labels.copy(), -labels, random.normal(size=N_TABLE)
        else:
            labels = random.integers(3, size=N_TABLE)
            right = np.eye(3)[labels] * 0.97 + 0.01
            wrong, guess = np.eye(3)[(labels + 1) % 3] * 0.97 + 0.01, random.dirichlet(np.ones(3), N_TABLE)
        values = {}
        for name, predictions in (("right", right), ("wrong", wrong), ("guessed", guess)):
            kept = predictions.copy(), labels.copy()
            values[name] = self._value(call, part, predictions, labels, f"{name} predictions")
            if not (np.array_equal(kept[0], predictions) and np.array_equal(kept[1], labels)):
                raise WrongError("changes the predictions or the labels that it is given; begin with a copy")
        better, worse = (
            (values["right"], values["wrong"]) if part.higher_is_better else (values["wrong"], values["right"])
        )
        if better < worse:
            raise WrongError(
                f"is {values['right']:.3g} for right predictions and {values['wrong']:.3g} for wrong ones, so "
                f"higher_is_better={not part.higher_is_better} would be its direction"
            )
        order = random.permutation(N_TABLE)
        shuffled = self._value(call, part, guess[order], labels[order], "the same rows in another order")
        if not math.isclose(shuffled, values["guessed"], rel_tol=1e-6, abs_tol=1e-9):
            raise WrongError("depends on the order of the rows, which has no meaning; take a mean or a sum over them")
        # Test rows may all be of one class. A metric that has no meaning then is NaN.
        one_class = np.zeros_like(labels)
        self._value(call, part, guess, one_class, "rows that all have one label", may_be_nan=True)
        call.seen = f"{values['right']:.3f} for right predictions, {values['wrong']:.3f} for wrong ones"
        made = torch.tensor(list(values.values())).expand(len(call.sample.trials), -1)
        return {"its values": Output(call.sample.without_axis(made))}

    def _value(
        self, call: Call, part: Metric, predictions: Any, labels: Any, case: str, *, may_be_nan: bool = False
    ) -> float:
        value = call.run(part.function, predictions, labels)
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
            raise WrongError(f"gives a {type(value).__name__}; it has to return {self.otherwise}")
        if may_be_nan and math.isnan(value):
            return math.nan
        low, high = part.bounds
        if not math.isfinite(value):
            raise WrongError(f"is {value} for {case}; it has to be a number there")
        if not low <= value <= high:
            raise WrongError(
                f"is {value:.4g} for {case}, outside its bounds {low:g} to {high:g}; state bounds=(LOW, HIGH)"
            )
        return float(value)


@dataclass
class PreparingProbe(Probe):
    """A scaling, an encoding, a regime or a split: the rows and the preprocessing of trials."""

    axis: str

    returns: ClassVar[Mapping[str, str]] = {
        "statistics": "the shift and the divisor of each column, two arrays (M,)",
        "column": "a Column of the table",
        "apply": "positions and their labels, two arrays (n_labels,)",
    }
    draws: ClassVar[str] = "the generator that it is given"
    unit: ClassVar[str] = "call"

    def call(self, part: Any, call: Call) -> dict[str, Output]:
        names = {"split": "splitting", "scaling": "scaling", "regime": "regime"}
        asked: dict[str, Any] = {"regime": Full(), "scaling": ZScore()}
        table = call.bench.table
        if self.axis == "encoding":
            table = part.encode(table)
        else:
            asked[names[self.axis]] = part
        if self.axis == "split":
            # Groups, times or parts that decide.
            table = replace(table, split_by=np.arange(table.n_rows, dtype=np.float64) % 10)
        trials = range(len(call.sample.trials))
        prepare = partial(prepare_trials, table, trials, call.bench.streams, fit_on="train", **asked)
        data = call.run(prepare, name=FUNCTIONS.get(self.axis, ""))
        outputs: dict[str, Output] = {}
        if self.axis == "scaling":
            outputs |= self._statistics(part, call, data)
        arrays = {"training rows": data.train, "labelled rows": data.labelled, "test rows": data.test,
                  "validation rows": data.validation, "labels": data.labels}  # fmt: skip
        for name, array in arrays.items():
            outputs[f"its {name}"] = Output(call.sample.without_axis(torch.from_numpy(array)), None, "any")
        scaled = np.stack([data.preprocessing.apply(table.values, trial) for trial in trials])
        # A number whose gaps networks see stays missing.
        hidden = np.isnan(scaled) & np.isnan(table.values)
        prepared = call.sample.without_axis(torch.from_numpy(np.where(hidden, 0.0, scaled)))
        outputs["its table, a view of all rows,"] = Output(prepared, (table.n_rows, len(table.columns)))
        call.seen = (
            f"{data.train.shape[1]} rows train, {data.labelled.shape[1]} of them with a label; {numbers(prepared)}"
        )
        return outputs

    def _statistics(self, part: Any, call: Call, data: TrialData) -> dict[str, Output]:
        """The shift and the scale of each column of the training rows."""
        numbers = np.nan_to_num(call.bench.table.values)
        trial_statistics = [part.statistics(numbers[rows]) for rows in data.train]
        found = {}
        for name, arrays in zip(("its shift", "its range"), zip(*trial_statistics, strict=True), strict=True):
            stacked = torch.from_numpy(np.stack([np.asarray(array, dtype=np.float64) for array in arrays]))
            found[name] = Output(call.sample.without_axis(stacked), (numbers.shape[1],))
        return found
