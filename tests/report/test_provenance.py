from dataclasses import replace

from scarf_lightning.data.targets import Classes, Number
from scarf_lightning.metrics import metric_named
from scarf_lightning.report.provenance import of_another_kind
from tests.report.cell_results import compared


def test_datasets_that_the_metric_does_not_measure_are_named() -> None:
    results = compared({"iris": {"none": [0.5], "scarf": [0.6]}, "diabetes": {"none": [0.5], "scarf": [0.6]}})
    kinds = {"iris": Classes(("a", "b")), "diabetes": Number("y")}
    both = replace(results, targets={n: kinds[name] for n, name in enumerate(results.cells["dataset"])})

    assert of_another_kind(both, metric_named("accuracy")) == (
        "accuracy does not measure diabetes, whose target is of another kind: number. Name another metric=, or report "
        "these datasets by themselves."
    )
    assert "does not measure iris" in of_another_kind(both, metric_named("rmse"))
    assert of_another_kind(results, metric_named("rmse")) == ""
