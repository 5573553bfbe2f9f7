"""Small faults that can be put into a module's source, found by its syntax tree.

Left alone, because no number and no refusal depends on it: docstrings, annotations, decorators, assertions, the text of
messages (strings, f-strings and all of a ``raise``), ``__repr__`` and ``__str__``, what only type checkers read, and
the keywords in `NEUTRAL`.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

Replacement = tuple[ast.expr | ast.stmt, str]

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


def mutants_of(file: str, source: str) -> list[Mutant]:
    """All mutants of a module, in the order of its text."""
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node, after in _in(ast.parse(source)):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        found.append(Mutant(file, node.lineno, start, end, source.encode()[start:end].decode(), after))
    return found


def _in(node: ast.AST) -> Iterator[Replacement]:
    """Replacements of a node and of all below it."""
    match node:
        case ast.Raise() | ast.Assert() | ast.JoinedStr() | ast.FunctionDef(name="__repr__" | "__str__"):
            return
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return
        case ast.keyword(arg=name) if name in NEUTRAL:
            return
        case ast.expr():
            yield from ((node, f"({ast.unparse(other)})") for other in _expressions(node))
        case ast.stmt():
            yield from _statements(node)
    left_alone = {"annotation", "returns", "decorator_list", "bases"}
    if _is_minus_one(node):
        left_alone.add("operand")
    for name, value in ast.iter_fields(node):
        if name not in left_alone:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _in(child)


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
