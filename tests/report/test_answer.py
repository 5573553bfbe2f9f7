from typing import Any

from scarf_lightning.report.options import Options
from scarf_lightning.report.reading import CellResults
from scarf_lightning.report.blocks import Paragraph
from scarf_lightning.report.summary import against_none, summary_section
from scarf_lightning.report.tables import Table
from tests.report.cell_results import compared, results_of

HIGH, LOW, SPREAD = [0.80, 0.81, 0.79], [0.50, 0.51, 0.49], [0.40, 0.60, 0.50]


def sentences(results: CellResults, drawings: list[dict[str, Any]] | None = None) -> list[str]:
    blocks = summary_section(results, drawings or [], Options()).blocks
    return [block.text for block in blocks if isinstance(block, Paragraph)]


def test_it_says_on_how_many_datasets_a_pretraining_wins() -> None:
    results = compared(
        {
            "won": {"none": LOW, "scarf": HIGH},
            "lost": {"none": HIGH, "scarf": LOW},
            "won too": {"none": LOW, "scarf": HIGH},
            "tied": {"none": SPREAD, "scarf": SPREAD},
        }
    )

    assert sentences(results) == [
        "All labels: SCARF beats control on 2 of 4 datasets, loses on 1, ties on 1; mean gain +20.63 % over all 4 "
        "datasets, +27.50 % over the 3 with p < 0.20."
    ]


def test_what_is_not_finished_is_no_tie() -> None:
    results = compared({"won": {"none": LOW, "scarf": HIGH}, "begun": {"none": [0.5], "scarf": []}})

    (sentence,) = sentences(results)

    assert "beats control on 1 of 1 dataset, loses on 0, ties on 0 (1 without two finished trials of each)" in sentence


def test_a_pretraining_is_paired_with_what_lacks_it_alone() -> None:
    shared = {"dataset": "iris", "regime": "semi25"}
    scarf = {"pretrain": "scarf", "corruption": "marginal"}
    results = results_of(
        [
            (shared | {"pretrain": "none", "method": "control"}, LOW),
            (shared | {"method": "control", "corruption.rate": 0.3} | scarf, HIGH),
            (shared | {"method": "control", "corruption.rate": 0.6} | scarf, HIGH),
            (shared | {"method": "mixup", "corruption.rate": 0.6} | scarf, HIGH),  # nothing to pair it with
            (shared | {"pretrain": "none", "method": "scarf_augment", "corruption": "marginal"}, HIGH),
        ]
    )

    pairs = against_none(results)

    assert pairs[["cell", "reference"]].to_numpy().tolist() == [[1, 0], [2, 0]]
    assert pairs["setting"].tolist() == ["scarf, corruption.rate=0.3", "scarf, corruption.rate=0.6"]
    assert [sentence.split(" beats")[0] for sentence in sentences(results)] == [
        "25 % labelled: SCARF, corruption.rate=0.3",
        "25 % labelled: SCARF, corruption.rate=0.6",
    ]


def test_scalings_are_paired_with_themselves() -> None:
    cells = [
        (
            {"dataset": "iris", "regime": "full", "method": "control", "scaling": s, "pretrain": p},
            HIGH if s == "zscore" else LOW,
        )
        for s in ("zscore", "minmax")
        for p in ("none", "scarf")
    ]

    first, second = sentences(results_of(cells))

    assert first.startswith("All labels + zscore: SCARF beats control on 0 of 1 dataset, loses on 0, ties on 1")
    assert second.startswith("All labels + minmax: SCARF beats control on 0 of 1 dataset, loses on 0, ties on 1")


def test_the_table_has_every_method_and_control_comes_in_words() -> None:
    values = {"iris": {"none": LOW, "scarf": HIGH}}
    cells = [
        ({"dataset": "iris", "regime": "full", "method": method, "pretrain": pretrain}, accuracies)
        for method in ("control", "mixup")
        for pretrain, accuracies in values["iris"].items()
    ]

    section = summary_section(results_of(cells), [], Options())

    assert len([block for block in section.blocks if isinstance(block, Paragraph)]) == 1
    (table,) = [block for block in section.blocks if isinstance(block, Table)]
    assert [[entry.text for entry in row[:5]] for row in table.rows] == [
        ["full + control", "scarf", "1", "0", "0"],
        ["full + mixup", "scarf", "1", "0", "0"],
    ]


def test_without_control_it_says_who_ranks_best() -> None:
    cells = [
        ({"dataset": d, "regime": "full", "method": "control", "pretrain": "scarf", "loss": loss}, values)
        for d in ("iris", "wine")
        for loss, values in (("infonce", HIGH), ("barlow_twins", LOW))
    ]
    drawings = [
        {"draw": "win_matrix", "title": "Losses", "compare": "loss"},
        {"draw": "epochs_table", "title": "Epochs"},
    ]

    assert sentences(results_of(cells), drawings) == [
        "Losses: loss infonce ranks best of 2, 1.00 on average over 2 datasets."
    ]
    assert sentences(results_of(cells[:1])) == [
        "These cells compare no pre-training with none, and no settings with each other."
    ]
