from pathlib import Path

from scarf_lightning.results.set_aside import set_aside


def test_records_keep_their_places_and_their_content_and_the_reason_is_beside_them(tmp_path: Path) -> None:
    torn, old = tmp_path / "cell" / "stacks" / "one", tmp_path / "cell" / "cell.json"
    torn.mkdir(parents=True)
    (torn / "rows").write_text("half")
    old.write_text("old")

    said = set_aside(tmp_path, [torn, old], "it is torn")

    (place,) = (tmp_path / "set_aside").iterdir()
    assert said == f"cell/stacks/one, cell/cell.json is set aside in {place}: it is torn."
    assert (place / "reason.txt").read_text() == "cell/stacks/one, cell/cell.json: it is torn\n"
    assert (place / "cell" / "stacks" / "one" / "rows").read_text() == "half"
    assert (place / "cell" / "cell.json").read_text() == "old"
    assert [path.name for path in (tmp_path / "cell").rglob("*")] == ["stacks"]


def test_what_is_set_aside_twice_at_once_does_not_meet(tmp_path: Path) -> None:
    record = tmp_path / "cell"
    for text in ("first", "second"):
        record.write_text(text)
        set_aside(tmp_path, [record], "why")

    kept = sorted(path.read_text() for path in (tmp_path / "set_aside").glob("*/cell"))
    assert kept == ["first", "second"]


def test_what_another_process_set_aside_meanwhile_is_passed_over(tmp_path: Path) -> None:
    record = tmp_path / "cell"
    record.write_text("here")

    set_aside(tmp_path, [tmp_path / "gone", record], "why")

    assert [path.read_text() for path in (tmp_path / "set_aside").glob("*/cell")] == ["here"]
