# SPDX-License-Identifier: Apache-2.0
"""Is the host what the hint ``query`` asks for? Nova's JsonFilter, a column at a time."""

import functools
import json
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from rpcapi.model import query
from rpcapi.model.query import Kind, Literal, Operand, Term, Variable
from scheduler_svc.filters import attributes
from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.reads import union
from scheduler_svc.request import Request
from scheduler_svc.table.columns import Column, FloatColumn
from scheduler_svc.table.view import View

NAME = "JsonFilter"
REASON = "query"

_TESTS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "in": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}


def sieves(view: View, request: Request) -> Iterator[Sieve]:
    """Let hosts pass of which the query is true; what cannot be read was refused at the way in."""
    told = request.hints.get(query.HINT)
    if not told:
        return
    asked = _parsed(told if isinstance(told, str) else json.dumps(told))
    if asked != query.EVERYTHING:
        yield Sieve(REASON, _Answers(view).truth(asked))


@functools.lru_cache(maxsize=256)
def _parsed(text: str) -> Term:
    return query.parse(text)


class _Answers:
    """Truths about each row of a view. As in Nova, a variable that a host does not tell is no operand there."""

    def __init__(self, view: View) -> None:
        self._view = view

    def truth(self, term: Term) -> Column:
        """Return of which rows ``term`` is true."""
        if term.operator in query.COMPARISONS:
            return self._compared(term)
        truths = [self._there_and(each) for each in term.operands]
        if term.operator == "or":
            return self._any(truth for _, truth in truths)
        if term.operator == "and":
            return ~self._any(there & ~truth for there, truth in truths)
        return self._any(there & ~truth for there, truth in truths)  # not: one that is false will do

    def _there_and(self, operand: Operand) -> tuple[Column, Column]:
        """Return where an operand is told, and where it is told and true."""
        there = self._there(operand)
        if isinstance(operand, Term):
            return there, self.truth(operand)
        if isinstance(operand, Variable) and operand.kind is Kind.FACT:
            return there, self._of_facts(bool, operand)
        return there, there & (self._numbers(operand) != 0 if isinstance(operand, Variable) else bool(operand.value))

    def _compared(self, term: Term) -> Column:
        """Hold the first operand that a row tells against each later one that it tells: at least one."""
        passes, open_rows = self._nowhere(), ~self._nowhere()
        operands = list(term.operands)
        there = [self._there(each) for each in operands]
        for at, first in enumerate(operands[:-1]):
            later = range(at + 1, len(operands))
            held = {index: self._held(term.operator, first, operands[index]) for index in later}
            if term.operator == "in":
                found = self._any(there[index] & held[index] for index in later)
            else:
                found = self._any(there[index] for index in later)
                found &= ~self._any(there[index] & ~held[index] for index in later)
            passes |= open_rows & there[at] & found
            open_rows &= ~there[at]
            if not open_rows.any():
                break
        return passes

    def _held(self, sign: str, left: Operand, right: Operand) -> Column:
        """Return where ``left`` and ``right`` stand to each other as ``sign`` says, of rows that tell both."""
        test = _TESTS[sign]
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Variable) and one.kind in (Kind.NAME, Kind.ADDRESS):
                texts = [str(other.value)] if isinstance(other, Literal) else []
                return attributes.called(self._view, one.path[0], texts)
        pair = (left, right)
        if all(isinstance(each, Literal) or _is_fact(each) for each in pair):
            return self._of_facts(_guarded(test), left, right)
        if any(isinstance(each, Literal) and isinstance(each.value, str) for each in pair):
            return self._nowhere()  # text is no number
        return test(self._numbers(left), self._numbers(right))

    def _there(self, operand: Operand) -> Column:
        if not isinstance(operand, Variable) or operand.kind is Kind.NAME:
            return ~self._nowhere()
        if operand.kind is Kind.NUMBER:
            return ~np.isnan(self._numbers(operand))
        if operand.kind is Kind.ADDRESS:
            return attributes.addressed(self._view)
        return self._of_facts(lambda value: value is not None, operand)

    def _numbers(self, operand: Operand) -> FloatColumn | float:
        if isinstance(operand, Literal):
            return float(operand.value)
        if isinstance(operand, Term):
            return self.truth(operand).astype(np.float64)
        if operand.kind is Kind.FACT:
            return self._view.facts.numbers(".".join(attributes.fact(operand.path)))
        return attributes.number(self._view, operand.path)

    def _of_facts(self, test: Callable[..., bool], *operands: Operand) -> Column:
        def true(facts: Mapping[str, Any]) -> bool:
            return bool(test(*(_value(facts, each) for each in operands)))

        return self._view.facts.where(true)

    def _any(self, columns: Iterable[Column]) -> Column:
        return functools.reduce(operator.or_, columns, self._nowhere())

    def _nowhere(self) -> Column:
        return np.zeros(self._view.size, np.bool_)


def _is_fact(operand: Operand) -> bool:
    return isinstance(operand, Variable) and operand.kind is Kind.FACT


def _value(facts: Mapping[str, Any], operand: Operand) -> Any:
    if isinstance(operand, Variable):
        return attributes.found(facts, attributes.fact(operand.path))
    return operand.value if isinstance(operand, Literal) else None


def _guarded(test: Callable[[Any, Any], Any]) -> Callable[[Any, Any], bool]:
    def holds(left: Any, right: Any) -> bool:
        try:
            return bool(test(left, right))
        except TypeError:  # they have no order
            return False

    return holds


FILTER = Filter(NAME, sieves, union((attributes.READS, attributes.COUNTED)))
