"""Related work: what its page counts in the paper's tables."""

from paper.published import published_accuracy
from tests.composing import ROOT


def test_what_it_says_of_the_papers_tables_is_in_them() -> None:
    published = published_accuracy()
    shown = " ".join((ROOT / "study/third_edition/related.md").read_text(encoding="utf-8").split())
    gains, n_behind = [], 0
    for regime in ("full", "semi25"):
        columns = published[published["regime"] == regime].pivot_table("accuracy", "dataset_id", ["pretrain", "method"])
        scarf = columns["scarf", "control"]
        gains.append(100 * (scarf / columns["none", "control"] - 1))
        n_behind = (columns["none", "xgboost"] > scarf).sum()

    means, medians = ([getattr(each, kind)() for each in gains] for kind in ("mean", "median"))
    expected = "we compute {:.1f} % and {:.1f} % (medians {:.1f} % and {:.1f} %)".format(*means, *medians)
    assert f"Over all {len(gains[0])} rows of its tables {expected}" in shown
    assert f"we count {n_behind} of the 69 on which default XGBoost is more accurate" in shown
