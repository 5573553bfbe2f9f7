"""Small faults that can be put into a module's source, found by its syntax tree, in two sets.

In the first something is another: an operator, a constant, a function. In the second something is left out: a
condition, a call, an argument, an element.

Left alone, because no number and no refusal depends on it: docstrings, annotations, decorators, assertions, the text of
messages (strings, f-strings and all of a ``raise``), ``__repr__`` and ``__str__``, what only type checkers read, and
the keywords in `NEUTRAL`.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Replacement = tuple[ast.expr | ast.stmt, str]
CHANGED, OMITTED = "changed", "omitted"
SETS = (CHANGED, OMITTED)

NEUTRAL = {"strict", "encoding", "indent", "compression", "copy", "stacklevel", "maxsize", "over", "invalid", "divide"}
"""Keywords that decide about speed, looks or checks of our own calls."""

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
CALLS = {
    "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "argmin": "argmax", "argmax": "argmin",
    "any": "all", "all": "any", "round": "int", "ceil": "floor", "floor": "ceil", "zeros": "ones", "ones": "zeros",
    "zeros_like": "ones_like", "ones_like": "zeros_like", "log": "log1p", "exp": "expm1",
}  # fmt: skip
"""Functions and methods by those that they are mistaken for."""


CONVERSIONS = {"list", "tuple", "int", "float", "bool", "str", "asarray", "tolist", "item", "cpu"}
"""Functions and methods of which mostly only the type or the place of a value depends."""
SYMMETRIC = {"max", "min", "maximum", "minimum", "equal", "array_equal", "isclose", "lcm", "gcd"}
"""Functions whose arguments may come in any order."""

TYPES = {"dict", "list", "tuple", "type", "set", "Callable", "Mapping", "Sequence", "Iterator", "Literal", "NDArray"}
"""Names that in front of brackets make a type, such as ``dict[str, int]``."""
MODULES = {"np", "pd", "torch", "math", "functional", "itertools", "ast", "json", "os", "re", "shlex", "sys", "yaml"}
"""Names that are no values: a call of theirs is no method of a value."""


@dataclass(frozen=True)
class Mutant:
    """A module of the package, by its path in it, with the bytes from ``start`` to ``end`` replaced by ``after``."""

    file: str
    line: int
    start: int
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        before, after = (" ".join(text.split()) for text in (self.before, self.after))
        return f"{self.file}:{self.line}: {before} -> {after}"

    def apply(self, source: str) -> str:
        raw = source.encode()
        return (raw[: self.start] + self.after.encode() + raw[self.end :]).decode()

    @classmethod
    def named(cls, file: str, source: str, before: str, after: str) -> "Mutant":
        """The one that replaces a text which occurs once in the source."""
        if source.count(before) != 1:
            raise ValueError(f"'{before}' occurs {source.count(before)} times in {file}, not once")
        raw, sought = source.encode(), before.encode()
        start = raw.index(sought)
        return cls(file, raw.count(b"\n", 0, start) + 1, start, start + len(sought), before, after)


def mutants_of(file: str, source: str, of: str = CHANGED) -> list[Mutant]:
    """All mutants of a module by one of `SETS`, in the order of its text."""
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node, after in _in(ast.parse(source), of == CHANGED):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        found.append(Mutant(file, node.lineno, start, end, source.encode()[start:end].decode(), after))
    return found


def _in(node: ast.AST, is_changed: bool) -> Iterator[Replacement]:
    """Replacements of a node and of all below it."""
    match node:
        case ast.Raise() | ast.Assert() | ast.JoinedStr() | ast.FunctionDef(name="__repr__" | "__str__"):
            return
        case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.Assign(targets=[ast.Name(id="__all__")]):
            return
        case ast.keyword(arg=name) if name in NEUTRAL:
            return
        case ast.Subscript(value=ast.Name(id=name)) if name in TYPES:
            return
        case ast.expr():
            others = _expressions(node) if is_changed else _without(node)
            yield from ((node, f"({ast.unparse(other)})") for other in others)
        case ast.stmt():
            yield from _statements(node) if is_changed else _without_condition(node)
    left_alone = {"annotation", "returns", "decorator_list", "bases"}
    if _is_minus_one(node):
        left_alone.add("operand")
    for name, value in ast.iter_fields(node):
        if name not in left_alone:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _in(child, is_changed)


def _statements(node: ast.stmt) -> Iterator[Replacement]:
    match node:
        case ast.Expr(value=ast.Call()) | ast.Continue() | ast.Break() | ast.Return(value=None):
            yield node, "pass"
        case ast.If(test=test):
            yield test, f"(not ({ast.unparse(test)}))"
        case ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            yield node, ast.unparse(ast.AugAssign(node.target, ARITHMETIC[type(op)](), node.value))


def _expressions(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare():
            for i, op in enumerate(node.ops):
                for other in COMPARISONS[type(op)]:
                    yield ast.Compare(node.left, [*node.ops[:i], other(), *node.ops[i + 1 :]], node.comparators)
        case ast.BinOp(op=op) if type(op) in ARITHMETIC and not _joins_text_or_types(node):
            yield ast.BinOp(node.left, ARITHMETIC[type(op)](), node.right)
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        case ast.UnaryOp() if _is_minus_one(node):
            yield ast.Constant(0)
        case ast.UnaryOp():
            yield node.operand
        case ast.IfExp():
            yield ast.IfExp(node.test, node.orelse, node.body)
        case ast.Constant(value=value):
            yield from (ast.Constant(other) for other in _constants(value))
        case ast.Call(func=ast.Name(id=name)) if name in CALLS:
            yield ast.Call(ast.Name(CALLS[name]), node.args, node.keywords)
        case ast.Call(func=ast.Attribute(value=of, attr=name)) if name in CALLS:
            yield ast.Call(ast.Attribute(of, CALLS[name]), node.args, node.keywords)


def _without_condition(node: ast.stmt) -> Iterator[Replacement]:
    """A branch that is always or never taken, a loop without its last round, a value that is not updated."""
    match node:
        case ast.If(test=test):
            yield test, "True"
            yield test, "False"
        case ast.For(iter=iterated):
            yield iterated, f"list({ast.unparse(iterated)})[:-1]"
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in _names(value):
            yield node, "pass"
        case ast.AugAssign():
            yield node, "pass"


def _without(node: ast.expr) -> Iterator[ast.expr]:
    """The expression without one of its parts."""
    match node:
        case ast.BoolOp(values=[*values]):
            yield from (ast.BoolOp(node.op, rest) if len(rest) > 1 else rest[0] for rest in _without_each(values))
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
            for place, each in enumerate(node.generators):
                for conditions in _without_each(each.ifs):
                    other = ast.comprehension(each.target, each.iter, conditions, each.is_async)
                    yield type(node)(node.elt, [*node.generators[:place], other, *node.generators[place + 1 :]])
        case ast.Call(func=function, args=args, keywords=keywords):
            name = ast.unparse(function).split(".")[-1]
            if name in CONVERSIONS:
                pass
            elif isinstance(function, ast.Attribute) and not _is_module(function.value):
                yield function.value
            elif len(args) == 1 and not keywords and not isinstance(args[0], ast.GeneratorExp | ast.Starred):
                yield args[0]
            is_ordered = len(args) > 1 and name not in SYMMETRIC and ast.dump(args[0]) != ast.dump(args[1])
            if is_ordered and not any(isinstance(each, ast.Starred) for each in args):
                yield ast.Call(function, [args[1], args[0], *args[2:]], keywords)
            for rest, dropped in zip(_without_each(keywords), keywords, strict=True):
                if dropped.arg not in {*NEUTRAL, None}:
                    yield ast.Call(function, args, rest)
        case ast.Subscript(value=value, slice=ast.Slice(lower=lower, upper=upper)):
            if lower is not None:
                yield ast.Subscript(value, ast.Slice(None, upper))
            if upper is not None:
                yield ast.Subscript(value, ast.Slice(lower, None))
        case ast.List(elts=[_, *_, _] as elements) | ast.Tuple(elts=[_, *_, _] as elements):
            if isinstance(node.ctx, ast.Load) and not any(isinstance(each, ast.Slice) for each in elements):
                yield type(node)(elements[:-1], ast.Load())


def _without_each(values: list[Any]) -> Iterator[list[Any]]:
    yield from (values[:place] + values[place + 1 :] for place in range(len(values)))


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _is_module(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in MODULES


def _constants(value: object) -> list[bool | int | float]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1] if abs(value) < 100 else [value // 2]
    if isinstance(value, float):
        return [value * 1.1 if value else 1.0]
    return []


def _is_minus_one(node: ast.AST) -> bool:
    return isinstance(node, ast.UnaryOp) and ast.unparse(node) == "-1"


def _joins_text_or_types(node: ast.BinOp) -> bool:
    """Whether the two sides are texts, or types of which a value may have either."""
    return any(
        isinstance(side, ast.JoinedStr)
        or (isinstance(side, ast.Constant) and not isinstance(side.value, int | float))
        or (isinstance(side, ast.Name) and side.id in {"int", "str", "list", "float", "dict"})
        for side in (node.left, node.right)
    )
