"""The study of a search: tries are claimed, taken over and counted, and it is kept where the user says."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.errors import RecordWarning, UsageError
from scarf_lightning.sweeping import kept_search as module
from scarf_lightning.sweeping.kept_search import KeptSearch
from scarf_lightning.sweeping.search import Search, read_search
from tests.composing import SWEEPS, _composer

optuna = pytest.importorskip("optuna", minversion="4")
pytestmark = pytest.mark.usefixtures("in_tmp")

RATE = "corruption.rate=interval(0.2,0.8)"


def searched(*arguments: str, **options: Any) -> Search:
    return read_search(options, list(arguments) or [RATE], "validation_error", _composer(), SWEEPS)


def kept(*arguments: str, **options: Any) -> KeptSearch:
    return KeptSearch(searched(*arguments, **options), Path("results"), is_better_higher=False)


def tried(study: KeptSearch, n_tries: int) -> list[tuple[int, tuple[str, ...]]]:
    """All tries until there are so many, each with a value."""
    found = []
    while True:
        with study.taken(n_tries) as taken:
            for each in taken.tries:
                found.append((each.number, each.overrides))
                study.tell(each.number, each.number / 10, "a" * 16)
            if not taken.tries:
                return found


@pytest.mark.slow
def test_a_search_that_goes_on_suggests_what_it_would_have_suggested() -> None:
    whole = tried(kept(storage="whole.log"), 4)

    parts = tried(kept(storage="parts.log"), 2)
    parts += tried(kept(storage="parts.log"), 4)

    assert parts == whole
    assert [number for number, _ in whole] == list(range(4))
    assert len({overrides for _, overrides in whole}) == 4
    assert tried(kept(storage="other.log", sampler={"seed": 1}), 1) != whole[:1]


def test_the_sampler_is_the_one_that_is_asked_for() -> None:
    assert isinstance(module._sampler(searched(), 0), optuna.samplers.TPESampler)
    assert isinstance(module._sampler(searched(sampler={"name": "random"}), 0), optuna.samplers.RandomSampler)


@pytest.mark.slow
def test_the_estimator_learns_from_tries_and_random_ones_do_not() -> None:
    estimated, random = tried(kept(storage="a.log"), 12), tried(kept(storage="b.log", sampler={"name": "random"}), 12)

    assert estimated[:10] == random[:10], "the estimator begins with ten at random"
    assert estimated[10:] != random[10:]


def test_the_try_of_a_dead_process_is_taken_over_with_its_options() -> None:
    dead: list[tuple[int, tuple[str, ...]]] = []

    def die() -> None:
        with kept().taken(3) as taken:
            dead.extend((each.number, each.overrides) for each in taken.tries)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        die()

    with kept(n_jobs=2).taken(1) as alone:
        assert [(each.number, each.overrides) for each in alone.tries] == dead, "it is one of those that are asked for"
    assert tried(kept(), 3)[0] == dead[0]
    assert [each.number for each in kept().finished] == [0, 1, 2]
    assert [path.name for path in Path("results/optuna").iterdir()] == [f"{kept().name}.log"], "no claim is left"


def test_a_try_without_options_failed() -> None:
    study = kept(storage="study.log", study_name="mine")
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend("study.log"))
    theirs = optuna.load_study(study_name="mine", storage=storage)
    theirs.ask()

    assert [number for number, _ in tried(study, 2)] == [1, 2]
    assert [each.state.name for each in theirs.get_trials()] == ["FAIL", "COMPLETE", "COMPLETE"]
    assert not Path("results/optuna/mine").exists()


TORN: dict[str, Callable[[bytes], bytes]] = {
    "7 bytes gone": lambda content: content[:-7],
    "the end of the line gone": lambda content: content[:-1],
    "a line begun": lambda content: content + b'{"op',
    "a line begun and ended": lambda content: content + b'{"op\n',
    "empty": lambda _: b"",
}


@pytest.mark.slow
@pytest.mark.parametrize("tear", TORN.values(), ids=TORN)
def test_a_torn_last_line_is_left_out_and_the_search_goes_on(tear: Callable[[bytes], bytes]) -> None:
    whole = tried(kept(storage="study.log"), 3)
    journal = Path("study.log")
    journal.write_bytes(tear(journal.read_bytes()))

    assert all(each in whole for each in tried(kept(storage="study.log"), 3))
    assert [each.number for each in kept(storage="study.log").finished] == [0, 1, 2]
    assert not list(Path().glob("*damaged*"))


@pytest.mark.parametrize("line", [b"not JSON", b"{}", b'{"op_code": 99}'])
def test_a_journal_that_cannot_be_read_is_set_aside_and_made_again(line: bytes) -> None:
    whole = tried(kept(storage="study.log"), 3)
    journal = Path("study.log")
    first, *others = journal.read_bytes().splitlines()
    journal.write_bytes(b"\n".join([first, line, *others]) + b"\n")
    damaged = journal.read_bytes()

    with pytest.warns(RecordWarning, match=r"^study.log cannot be read \(.*\): it is study.log.damaged-\S* now"):
        study = kept(storage="study.log")

    assert tried(study, 3) == whole
    (aside,) = Path().glob("study.log.damaged-*")
    assert aside.read_bytes() == damaged


@pytest.mark.parametrize("overrides", [7, None, [7], "trials=2", {"a": 1}])
def test_overrides_that_are_no_texts_are_refused_in_a_sentence(overrides: Any) -> None:
    tried(kept(storage="study.log", study_name="mine"), 1)
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend("study.log"))
    trial = optuna.load_study(study_name="mine", storage=storage).ask()
    trial.set_user_attr("overrides", overrides)

    with pytest.raises(UsageError, match=r"^The study mine in .*study.log cannot be used: the overrides of try 1 are"):
        tried(kept(storage="study.log", study_name="mine"), 2)


@pytest.mark.parametrize("last", [7, [1, 2, 3], None])
def test_a_last_cell_that_is_none_is_refused_in_a_sentence(last: Any) -> None:
    study = kept(storage="study.log", study_name="mine")
    study._study.set_user_attr("last_cell", last)
    if last is None:
        assert study.last_cell is None
    else:
        with pytest.raises(UsageError, match=r"^The study mine in .* cannot be used: its last_cell is no number"):
            _ = study.last_cell


def test_processes_share_the_tries() -> None:
    one, other = kept(), kept()

    with one.taken(2) as mine, other.taken(2) as yours, kept().taken(2) as none:
        assert [each.number for each in mine.tries] == [0]
        assert [each.number for each in yours.tries] == [1]
        assert (list(none.tries), none.n_elsewhere) == ([], 2)


def test_several_tries_are_taken_together_and_never_too_many() -> None:
    with kept(n_jobs=3).taken(2) as taken:
        assert [each.number for each in taken.tries] == [0, 1]


def test_a_failed_try_is_none_of_those_asked_for() -> None:
    study = kept()
    with study.taken(2) as taken:
        study.tell_failure(taken.tries[0].number)

    assert [number for number, _ in tried(study, 2)] == [1, 2]


def test_a_value_is_told_once() -> None:
    study = kept()
    with study.taken(1):
        study.tell(0, 0.5, "a" * 16)
        study.tell(0, 0.1, "b" * 16)

    assert [each.value for each in study.finished] == [0.5]


@pytest.mark.parametrize("storage", [None, "studies.log", pytest.param("sqlite:///study.db", marks=pytest.mark.slow)])
def test_the_study_is_where_the_user_says_or_in_the_results(storage: str | None, tmp_path: Path) -> None:
    tried(kept(storage=storage, study_name="my/study"), 1)

    study = kept(storage=storage, study_name="my/study")
    assert len(study.finished) == 1
    expected = tmp_path / "results" / "optuna" / "my%2Fstudy.log"
    assert study.place == (storage if storage and "://" in storage else str(tmp_path / (storage or expected)))


def test_a_study_of_something_else_is_refused() -> None:
    tried(kept(study_name="mine"), 1)

    with pytest.raises(
        UsageError, match=r"^The study mine in .*mine\.log is of another search; choose another hydra\."
    ):
        kept(RATE, "seed=1", study_name="mine")


def test_searches_without_a_name_have_studies_of_their_own() -> None:
    assert kept().name != kept(RATE, "seed=1").name
    assert kept().name == kept(n_trials=3, sampler={"name": "random"}).name
    axes = (RATE, "loss.temperature=interval(0.1,2)")
    assert kept(*axes).name == kept(*axes[::-1]).name, "in whatever order its options are given"


@pytest.mark.parametrize(
    ("storage", "sentence"),
    [
        (
            "study",
            "hydra.sweeper.storage=study is neither a database, such as sqlite:///study.db, nor a file that ends",
        ),
        ("none://a", "hydra.sweeper.storage=none://a cannot be opened: Can't load plugin: sqlalchemy.dialects:none."),
        ("sqlite:////nowhere/a.db", "hydra.sweeper.storage=sqlite:////nowhere/a.db cannot be opened: "),
        ("none://me:secret@a/b", "hydra.sweeper.storage=none://me:***@a/b cannot be opened: "),
        ("nowhere/a.log", "hydra.sweeper.storage=nowhere/a.log cannot be opened: "),
    ],
)
def test_a_storage_that_cannot_be_opened_is_named(storage: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        kept(storage=storage)

    assert str(caught.value).startswith(sentence)
    assert not Path("results").exists()


def test_optuna_may_be_too_old_or_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optuna, "__version__", "3.6.2")
    need = "hydra/sweeper=optuna needs the package optuna, version 4 or 5"
    with pytest.raises(UsageError) as caught:
        module.require_optuna()
    assert str(caught.value) == f"{need}, and 3.6.2 is installed: pip install 'optuna<6,>=4'."

    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(UsageError) as caught:
        module.require_optuna()
    assert str(caught.value) == f"{need}: pip install 'optuna<6,>=4'."
