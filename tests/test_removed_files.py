"""Every place of the package that removes, replaces or writes files is held by a test of the named module."""

import ast
from pathlib import Path

import pytest

import scarf_lightning

PACKAGE = Path(scarf_lightning.__file__).parent
TESTS = Path(__file__).parent
HELD_BY = {
    "cli/browsing.py": "cli/test_browsing.py",
    "cli/commands.py": "cli/test_commands.py",
    "cli/logged_answers.py": "cli/test_logged_answers.py",
    "cli/output.py": "cli/test_output.py",
    "cli/show.py": "cli/test_show.py",
    "estimators/saving.py": "estimators/test_saving.py",
    "loggers/places.py": "loggers/test_places.py",
    "loggers/wandb_runs.py": "loggers/test_views.py",
    "reporting/making.py": "reporting/test_making.py",
    "results/claims.py": "results/test_claims.py",
    "results/files.py": "results/test_files.py",
    "results/index.py": "results/test_index.py",
    "results/notes.py": "results/test_notes.py",
    "results/pretrained.py": "results/test_pretrained.py",
    "results/records.py": "results/test_records.py",
    "results/store.py": "results/test_store.py",
    "sweeping/chunks.py": "sweeping/test_chunks.py",
    "sweeping/slurm.py": "sweeping/test_slurm.py",
}
CHANGING = {
    "rmtree", "unlink", "rmdir", "copyfile", "move", "write_text", "write_bytes", "to_parquet", "write_whole",
}  # fmt: skip


def changes_files(call: ast.Call) -> bool:
    """True for a call that removes, replaces or writes a file."""
    if isinstance(call.func, ast.Name):
        return call.func.id in CHANGING
    if not isinstance(call.func, ast.Attribute):
        return False
    name = call.func.attr
    if name in ("replace", "rename"):
        # Of a path; a text's takes two arguments, and a series is given a name.
        return len(call.args) == 1 and not call.keywords and not isinstance(call.args[0], ast.Constant)
    if name in ("to_csv", "to_json"):
        return bool(call.args)
    if name == "open":
        modes = [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        return any(set(mode) & set("wax") for mode in modes if len(mode) <= 3)
    return name in CHANGING


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("shutil.rmtree(a)", True),
        ("path.replace(other)", True),
        ("file.open('wb')", True),
        ("write_whole(a, b)", True),
        ("'a'.replace('a', 'b')", False),
        ("series.rename('a')", False),
        ("file.open('rb')", False),
    ],
)
def test_calls_that_change_files_are_known(line: str, expected: bool) -> None:
    (call,) = (node for node in ast.walk(ast.parse(line)) if isinstance(node, ast.Call))
    assert changes_files(call) is expected


def test_every_module_that_removes_replaces_or_writes_files_has_a_test_of_it() -> None:
    found = set()
    for path in PACKAGE.rglob("*.py"):
        calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
        if any(changes_files(call) for call in calls):
            found.add(path.relative_to(PACKAGE).as_posix())
    assert found == HELD_BY.keys()
    assert [test for test in HELD_BY.values() if not (TESTS / test).exists()] == []
