# SPDX-License-Identifier: Apache-2.0
"""The changes that can be made to sources in Python, found in the syntax tree."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from typing import Final

from docsis_mutants import numbers
from docsis_mutants.site import Change, Operator

_RELATIONS: Final = {
    **{"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="},
    **{"is": "is not", "is not": "is", "in": "not in", "not in": "in"},
}
_OPERATIONS: Final = {
    **dict.fromkeys(("+", "-", "*", "/", "//", "%"), Operator.ARITHMETIC),
    **dict.fromkeys(("<<", ">>"), Operator.SHIFT),
    **dict.fromkeys(("&", "|", "^", "and", "or"), Operator.LOGIC),
}
_OTHER: Final = {
    **{"+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "%": "*"},
    **{"<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "|", "and": "or", "or": "and"},
}
_EXTREMES: Final = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}
_BETWEEN: Final = re.compile(r"is\s+not\b|not\s+in\b|is\b|in\b|and\b|or\b|[-+*/%<>=!&|^]+")
_COMMENT: Final = re.compile(r"#[^\n]*")


def changes(text: str) -> Iterator[Change]:
    """Yields all changes of a source, in the order of their places."""
    finder = _Finder(text)
    finder.visit(ast.parse(text))
    yield from sorted(finder.found, key=lambda change: (change.start, change.operator))


class _Finder(ast.NodeVisitor):
    """Collects changes; annotations, assertions and docstrings stay as they are."""

    def __init__(self, text: str) -> None:
        self.found: list[Change] = []
        self._initial = False
        self._text = text
        self._lines = text.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def _offset(self, line: int, column: int) -> int:
        """The tree counts a line's bytes, and lines from 1."""
        whole = self._lines[line - 1].encode()
        return self._starts[line - 1] + len(whole[:column].decode())

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self._offset(node.lineno, node.col_offset),
            self._offset(node.end_lineno, node.end_col_offset),
        )

    def _add(self, start: int, before: str, after: str, operator: Operator) -> None:
        self.found.append(Change(start, before, after, operator))

    def _sign_between(self, left: int, right: int) -> tuple[int, str] | None:
        """The operator between two operands, and where it is."""
        # Comments and what encloses an operand are blanks here.
        gap = _COMMENT.sub(lambda match: " " * len(match.group()), self._text[left:right])
        match = _BETWEEN.search(gap)
        if match is None:
            return None
        return left + match.start(), match.group()

    def visit_arg(self, node: ast.arg) -> None:
        """Leaves the annotation out."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Leaves the annotation out."""
        if node.value is not None:
            self._statement(node.target, node)
            self.visit(node.value)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Leaves decorators out, which say what a class is and not what it does."""
        for each in node.body:
            self.visit(each)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Leaves decorators and annotations out; defaults are values."""
        self._initial = node.name == "__init__"
        for each in (*node.args.defaults, *node.args.kw_defaults, *node.body):
            if each is not None:
                self.visit(each)
        self._initial = False

    def visit_Assert(self, node: ast.Assert) -> None:
        """Leaves assertions out."""

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """Leaves types such as ClassVar[...] out."""
        if isinstance(node.value, ast.Name) and node.value.id in ("ClassVar", "Final", "tuple"):
            return
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """A relation."""
        operands = (node.left, *node.comparators)
        for left, right in itertools.pairwise(operands):
            found = self._sign_between(self._span(left)[1], self._span(right)[0])
            if found is not None and found[1] in _RELATIONS:
                self._add(found[0], found[1], _RELATIONS[found[1]], Operator.RELATION)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """An operator of arithmetic, bits or shifts."""
        self._swap(self._span(node.left)[1], self._span(node.right)[0])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Each `and` and `or`."""
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._swap(self._span(left)[1], self._span(right)[0])
        self.generic_visit(node)

    def _swap(self, left: int, right: int) -> None:
        found = self._sign_between(left, right)
        if found is not None and found[1] in _OPERATIONS:
            self._add(found[0], found[1], _OTHER[found[1]], _OPERATIONS[found[1]])

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """The operator of `x += 1`, and the statement."""
        found = self._sign_between(self._span(node.target)[1], self._span(node.value)[0])
        if found is not None and (sign := found[1].removesuffix("=")) in _OPERATIONS:
            self._add(found[0], found[1], f"{_OTHER[sign]}=", _OPERATIONS[sign])
        self._leave_out(node)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """An assignment to an attribute or to elements, which is left out."""
        self._statement(node.targets[0], node)
        self.generic_visit(node)

    def _statement(self, target: ast.expr, node: ast.stmt) -> None:
        # A name that is never bound, or an attribute that is never made, fails at once whatever the
        # tests look at.
        if isinstance(target, (ast.Attribute, ast.Subscript)) and not self._initial:
            self._leave_out(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        """A call, which is left out; a docstring stays."""
        if isinstance(node.value, ast.Call) and not self._initial:
            self._leave_out(node)
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def _leave_out(self, node: ast.stmt) -> None:
        start, end = self._span(node)
        self._add(start, self._text[start:end], "pass", Operator.STATEMENT)

    def visit_If(self, node: ast.If) -> None:
        """A condition."""
        self._negate(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        """A condition."""
        self._negate(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """A condition."""
        self._negate(node.test)
        self.generic_visit(node)

    def _negate(self, test: ast.expr) -> None:
        start, end = self._span(test)
        before = self._text[start:end]
        self._add(start, before, f"not ({before})", Operator.NEGATION)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """`~` on arrays, which is left out."""
        if isinstance(node.op, ast.Invert):
            self._add(self._span(node)[0], "~", "", Operator.NEGATION)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """A number, True or False."""
        start, end = self._span(node)
        before = self._text[start:end]
        if isinstance(node.value, bool):
            self._add(start, before, str(not node.value), Operator.TRUTH)
        elif isinstance(node.value, (int, float)):
            for other in numbers.others(before):
                self._add(start, before, other, Operator.CONSTANT)

    def visit_Call(self, node: ast.Call) -> None:
        """The smallest and the largest."""
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in _EXTREMES:
            end = self._span(function)[1]
            name = function.attr
            self._add(end - len(name), name, _EXTREMES[name], Operator.EXTREME)
        elif isinstance(function, ast.Name) and function.id in _EXTREMES:
            name = function.id
            self._add(self._span(function)[0], name, _EXTREMES[name], Operator.EXTREME)
        self.generic_visit(node)
