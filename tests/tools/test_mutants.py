"""The mutation script itself: what it changes, what it leaves alone, and that its table is up to date."""

import ast

import pytest

from tools.mutants import chosen
from tools.mutants.chosen import PACKAGE, ROOT, guards, guards_of, is_equivalent, named_mutants, refactored_mutants
from tools.mutants.operators import CHANGED, OMITTED, SETS, Mutant, mutants_of

SOURCES = {module: (PACKAGE / module).read_text(encoding="utf-8") for module in chosen.modules()}


@pytest.mark.parametrize(
    ("of", "source", "mutated"),
    [
        (CHANGED, "a < b", ["(a <= b)", "(a >= b)"]),
        (CHANGED, "x = 0.5", ["x = (0.55)"]),
        (CHANGED, "if a:\n    b()", ["if (not (a)):\n    b()", "if a:\n    pass"]),
        (CHANGED, "é = 'é', a + b", ["é = 'é', (a - b)"]),
        (OMITTED, "x = [a for a in b if a if c]", ["x = ([a for a in b if c])", "x = ([a for a in b if a])"]),
        (OMITTED, "x = f(a=b, c=d)", ["x = (f(c=d))", "x = (f(a=b))"]),
        (OMITTED, "x = list(a)", []),
        # What decides no number is left alone.
        (CHANGED, "raise ValueError(f'{a + 1} is below {2}')", []),
        (CHANGED, "def __repr__(self):\n    return 1 + 1", []),
        (CHANGED, "x = zip(a, b, strict=True)", []),
    ],
)
def test_mutants_of_one_statement(of: str, source: str, mutated: list[str]) -> None:
    assert {mutant.apply(source) for mutant in mutants_of("a.py", source, of)} == set(mutated)


@pytest.mark.slow
@pytest.mark.parametrize("module", SOURCES)
def test_mutants_can_be_compiled_and_say_something_else(module: str) -> None:
    source = SOURCES[module]
    whole = ast.dump(ast.parse(source))
    drawn = [each for of in SETS for each in mutants_of(module, source, of)[::20]]
    for mutant in drawn + named_mutants(module, source):
        assert ast.dump(ast.parse(mutant.apply(source))) != whole, str(mutant)


def test_refactoring_faults_are_in_ten_rooms_and_mirror_a_guard() -> None:
    with pytest.raises(ValueError, match=r"^'a' occurs 2 times in a\.py, not once"):
        Mutant.named("a.py", "a = a", "a", "b")
    mutants = refactored_mutants()

    assert len(mutants) == len({mutant.file.partition("/")[0] for mutant in mutants}) == 10
    for mutant in mutants:
        source = (PACKAGE / mutant.file).read_text(encoding="utf-8")
        assert ast.dump(ast.parse(mutant.apply(source))) != ast.dump(ast.parse(source)), str(mutant)
        folder, _, name = mutant.file.rpartition("/")
        assert guards_of(mutant) == (f"tests/{folder}/test_{name}",)
        assert (ROOT / guards_of(mutant)[0]).exists()


@pytest.mark.slow
@pytest.mark.parametrize("module", sorted({module for module, *_ in chosen.EQUIVALENT}))
def test_what_is_called_equivalent_is_what_could_be_drawn(module: str) -> None:
    source = SOURCES[module]
    met = [each for of in SETS for each in mutants_of(module, source, of) if is_equivalent(each, source)]
    assert len(met) == sum(module == file for file, *_ in chosen.EQUIVALENT)
    assert not any(is_equivalent(mutant, source) for mutant in named_mutants(module, source))


@pytest.mark.slow
def test_every_module_has_guards_that_exist() -> None:
    for module, source in SOURCES.items():
        if mutants_of(module, source):
            assert guards(module), module
            assert [test for test in guards(module) if not (ROOT / test).exists()] == [], module
    of_modules = {entry for entry in chosen.GUARDS if not entry.endswith("/")} | {module for module, *_ in chosen.NAMED}
    assert of_modules <= SOURCES.keys()
