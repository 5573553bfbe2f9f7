"""The first screen: the answer in sentences, a picture and a table."""

from collections.abc import Sequence

import pandas as pd

from ..errors import counted
from ..metrics import Metric, metrics
from ..verdicts.answers import UNDECIDED
from ..verdicts.words import TOGETHER, level_in_words
from .advice import trials_sentence
from .blocks import Block, Paragraph, Section, Table, table
from .cell_results import CellResults
from .effect_tables import effects_table, means_table, metrics_table
from .effects import effects_picture, label_curve
from .levels import level_of
from .names import setting_name
from .questions import Answers
from .worth_table import worth_in_words, worth_table


def answer_sections(answers: Answers) -> list[Section]:
    """The first screen: the answer in sentences, one figure, one table, and the trials that would decide what is open;
    then the rest of what is known of it."""
    results, options = answers.results, answers.options
    if not answers.effects:
        levels = _without_comparison(results, options.measure)
        return [Section("summary", "The answer", [*levels, *map(Paragraph, answers.reservations)])]
    texts = [*answers.in_words, *worth_in_words(answers.worths)]
    is_curve = answers.effects[0].labels is not None and answers.product is None
    picture = effects_picture(answers.effects, options)
    if is_curve:
        competitors = [effect for effect in answers.effects if effect.kind == "competitor"]
        picture = label_curve(options, competitors)
    # The means of a product stand in the place of its effects.
    product = answers.product
    first = effects_table(answers) if product is None else means_table(product, options.measure)
    blocks: list[Block] = [*map(Paragraph, texts), picture, first]
    blocks += map(Paragraph, trials_sentence(answers.asked))
    blocks += map(Paragraph, answers.reservations)
    sections = [Section("summary", "The answer", blocks)]
    if details := _details(answers, is_curve=is_curve):
        sections.append(Section("details", "More on the answer", details))
    return sections


def _details(answers: Answers, *, is_curve: bool) -> list[Block]:
    """What stands behind the effects: how they hold together, and other metrics."""
    effects, options = answers.effects, answers.options
    blocks: list[Block] = []
    # Where nothing is claimed, nobody needs to know how much is claimed at once.
    if len(effects) > 1 and any(effect.claimed != UNDECIDED for effect in effects):
        blocks.append(Paragraph(TOGETHER))
    if is_curve:
        blocks.append(effects_picture(effects, options))
    if answers.product is not None:
        blocks.append(effects_table(answers))
    if answers.worths:
        blocks.append(worth_table(answers.worths, options.measure))
    if others := metrics_table(answers):
        blocks.append(others)
    return blocks


def _without_comparison(results: CellResults, metric: Metric) -> list[Block]:
    """The levels of cells that are compared with nothing."""
    finished = [cell for cell, row in results.rows.items() if row["finished"]]
    # Cells without pre-training need a rival, and pre-trained ones themselves without it.
    is_pretrained = any(row["pretrain"] != "none" for row in results.rows.values())
    other = "pretrain=none" if is_pretrained else "pretrain=scarf or method=logistic"
    texts = [f"There is nothing to compare with; train a reference on the same data, such as {other}."]
    if len(finished) == 1:
        (cell,) = finished
        name = f"{setting_name(results.rows[cell], ['pretrain', 'method'])} on {results.rows[cell]['dataset']}"
        level = level_in_words(level_of(results, cell, metric), metric)
        texts = [f"{name}: {level} in {counted(results.trials[metric.name].count(), 'trial')}.", *texts]
    return [*map(Paragraph, texts), _levels(results, finished)]


def _levels(results: CellResults, cells: Sequence[int]) -> Table:
    """Every metric of every cell that has a trial."""
    lines, data = [], []
    for cell in cells:
        name = results.names[cell]
        for metric in metrics():
            n = results.trials_of(cell)[metric.name].count()
            if n:
                mean, low, high = level_of(results, cell, metric)
                row = {"cell": name, "metric": metric.name, "mean": mean, "mean_low": low, "mean_high": high}
                data.append(row | {"trials": n})
                lines.append((name, metric.heading, metric.shown(mean), _ends(low, high, metric), n))
    frame = pd.DataFrame(lines, columns=["cell", "metric", "mean", "95 % interval", "trials"])
    return table("levels", "Every metric, with its 95 % interval over trials", frame, data=pd.DataFrame(data))


def _ends(low: float, high: float, metric: Metric) -> str | None:
    """Both ends of an interval; None if they are unknown."""
    return None if low != low else f"{metric.shown(low)} to {metric.shown(high)}"
