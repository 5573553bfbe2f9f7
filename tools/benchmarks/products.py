"""Lines of calibration on products of axes: the effect of each axis over all settings of the others, and interactions.

A table has rows of an ease and of a luck of their own, as in `calibration`. Each setting has a luck that it shares with
every other one in seven rows of ten, training rows and seeds of its own, and a level that is the sum of the effects of
its axes and of their interactions.
"""

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from scarf_lightning.metrics import metric_named
from scarf_lightning.verdicts import Answer, Verdict, answers_together
from scarf_lightning.verdicts.factors import (
    Contrast,
    Setting,
    interactions,
    judge_contrast,
    main_effects,
)
from scarf_lightning.verdicts.frame import Trials
from scarf_lightning.verdicts.trial_rows import RowsOfTrial, Split

from .calibration import BY_ROWS, LASTING, ROWS, SHARED, Random
from .calibration_page import Line, is_false

ACCURACY = metric_named("accuracy")


def product(
    random: Random, draws: int, sizes: Sequence[int], effect: float, both: float, trials: int, by_seed: float
) -> list[Line]:
    """Answers by axis where the last value of each axis gains ``effect``, and those of the first two axes together gain
    ``both`` more.

    *one pair* is the same effect by two cells that differ in it alone, answered alone. *any of a family* counts pages
    on which any answer of the family is false.
    """
    axes = {f"axis {place + 1}": list(range(size)) for place, size in enumerate(sizes)}
    settings = list(itertools.product(*axes.values()))
    levels = {setting: _level(setting, sizes, effect, both) for setting in settings}
    world = f"{' × '.join(map(str, sizes))}, {trials} trials, seeds {100 * by_seed:g} points"
    mains = main_effects(axes)
    crossed = interactions(axes)
    lines = {
        "effect": Line(f"effect of an axis, {world}", truth=effect + (both / 2 if len(sizes) == 2 else 0.0)),
        "pair": Line(f"one pair, {world}", truth=effect),
        "interaction": Line(f"interaction, {world}", truth=both),
        "family": Line(f"any of an axis, {world}", truth=0.0),
        "interactions": Line(f"any of the interactions, {world}", truth=0.0),
    }
    for _ in range(draws):
        cells, of_table = drawn(random, levels, trials, by_seed)
        truths = {setting: levels[setting] + of_table[setting] for setting in settings}
        judged = [(each, judge_contrast(each, [cells], ACCURACY), _truth(each, truths)) for each in mains]
        for axis in axes:
            family = [each for each in judged if each[0].factors == (axis,)]
            answers = answers_together([verdict for _, verdict, _ in family])
            _count_family(lines["family"], family, answers)
            # The last value of the last axis gains.
            contrast, verdict, truth = family[-1]
            if contrast.factors == (list(axes)[-1],):
                lines["effect"].count(verdict, answers[-1], truth)
        # The last value of the last axis again, within the first setting of the others.
        single = replace(mains[-1], ones=mains[-1].ones[:1], others=mains[-1].others[:1], weight=1.0)
        verdict = judge_contrast(single, [cells], ACCURACY)
        lines["pair"].count(verdict, verdict.answer, _truth(single, truths))
        judged = [(each, judge_contrast(each, [cells], ACCURACY), _truth(each, truths)) for each in crossed]
        answers = answers_together([verdict for _, verdict, _ in judged])
        _count_family(lines["interactions"], judged, answers)
        for (contrast, verdict, truth), answer in zip(judged, answers, strict=True):
            if contrast.factors == tuple(list(axes)[:2]) and contrast.values == (sizes[0] - 1, sizes[1] - 1):
                lines["interaction"].count(verdict, answer, truth)
    if effect or both:
        # A page has one rate of false families, that where nothing differs.
        del lines["family"], lines["interactions"]
    return list(lines.values())


def drawn(
    random: Random, levels: Mapping[Setting, float], trials: int, by_seed: float
) -> tuple[dict[Setting, Trials], dict[Setting, float]]:
    """Trials of cells on one table, and by how much the rows of this table change each of them."""
    n, n_train, n_test = ROWS, round(0.7 * ROWS), round(0.2 * ROWS)
    n_cells = len(levels)
    ease = random.uniform(0.6, 0.95, n)
    moves = random.normal(size=(n_cells, n)) * BY_ROWS * math.sqrt(n_train)
    lasting = _lucks(random, n_cells, n)
    values: list[dict[Hashable, float]] = [{} for _ in levels]
    rows: list[dict[Hashable, RowsOfTrial]] = [{} for _ in levels]
    for trial in range(trials):
        order = random.permutation(n)
        level = moves[:, order[:n_train]].mean(axis=1) + random.normal(size=n_cells) * by_seed
        level += np.array(list(levels.values()))
        test = order[-n_test:]
        fresh = _lucks(random, n_cells, n)
        luck = np.where(random.random(n) < LASTING, lasting, fresh)[:, test]
        right = (luck < ease[test] + level[:, None]).astype(np.float64)
        added = np.array([[1.0, 0.0]])
        for cell in range(n_cells):
            values[cell][trial] = float(right[cell].mean())
            rows[cell][trial] = RowsOfTrial(test, right[cell], added, test)
    split = Split("random", n_train)
    cells = {setting: Trials(values[cell], rows[cell], split) for cell, setting in enumerate(levels)}
    return cells, dict(zip(levels, moves.mean(axis=1).tolist(), strict=True))


def _lucks(random: Random, n_cells: int, n: int) -> "np.ndarray":
    """The luck of each cell on each row; two cells share it in `SHARED` of the rows."""
    own = random.random((n_cells, n))
    is_shared = random.random((n_cells, n)) < math.sqrt(SHARED)
    return np.where(is_shared, random.random(n), own)


def _level(setting: Setting, sizes: Sequence[int], effect: float, both: float) -> float:
    """The sum of a setting's effects."""
    is_last = [value == size - 1 for value, size in zip(setting, sizes, strict=True)]
    return -0.05 + effect * sum(is_last) + both * (is_last[0] and is_last[1])


def _truth(contrast: Contrast, truths: Mapping[Setting, float]) -> float:
    ones = sum(truths[setting] for setting in contrast.ones)
    return contrast.weight * (ones - sum(truths[setting] for setting in contrast.others))


def _count_family(line: Line, judged: Sequence[tuple[Contrast, Verdict, float]], answers: Sequence[Answer]) -> None:
    """Count a page on which any answer of a family is false."""
    line.draws += 1
    line.false += any(is_false(answer, truth) for (*_, truth), answer in zip(judged, answers, strict=True))
