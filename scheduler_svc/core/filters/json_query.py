# SPDX-License-Identifier: Apache-2.0
"""Filter by the scheduler hint ``query``, evaluated on columns: Nova's JsonFilter."""

import functools
import json
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from rpcapi.resources import query
from rpcapi.resources.query import Literal, Operand, Term, TermType, Variable
from scheduler_svc.core.matching import attributes
from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.reads import union
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import Column, FloatColumn
from scheduler_svc.core.table.view import View

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

_parse = functools.lru_cache(maxsize=256)(query.parse)


def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    hint = request.hints.get(query.HINT)
    if not hint:
        return
    term = _parse(hint if isinstance(hint, str) else json.dumps(hint))
    if term != query.EVERYTHING:
        yield HostPredicate(REASON, _QueryEvaluator(view).truth(term))


class _QueryEvaluator:
    """Evaluator of query terms for all rows. Like Nova, it skips operands that a host does not report."""

    def __init__(self, view: View) -> None:
        self._view = view

    def truth(self, term: Term) -> Column:
        if term.operator in query.COMPARISONS:
            return self._compare(term)
        truths = [self._presence_and_truth(operand) for operand in term.operands]
        if term.operator == "or":
            return self._any(truth for _, truth in truths)
        if term.operator == "and":
            return ~self._any(present & ~truth for present, truth in truths)
        return self._any(present & ~truth for present, truth in truths)  # "not" is true if any operand is false

    def _presence_and_truth(self, operand: Operand) -> tuple[Column, Column]:
        """Return masks of the rows with the operand, and of those where it is true."""
        present = self._presence(operand)
        if isinstance(operand, Term):
            return present, self.truth(operand)
        if isinstance(operand, Variable) and operand.kind is TermType.FACT:
            return present, self._of_facts(bool, operand)
        return present, present & (
            self._numbers(operand) != 0 if isinstance(operand, Variable) else bool(operand.value)
        )

    def _compare(self, term: Term) -> Column:
        """Compare each row's first present operand with the later ones. False unless a later one is present."""
        passes, open_rows = self._no_rows(), ~self._no_rows()
        operands = list(term.operands)
        present = [self._presence(operand) for operand in operands]
        for at, first in enumerate(operands[:-1]):
            later = range(at + 1, len(operands))
            results = {index: self._compare_pair(term.operator, first, operands[index]) for index in later}
            if term.operator == "in":
                matches = self._any(present[index] & results[index] for index in later)
            else:
                matches = self._any(present[index] for index in later)
                matches &= ~self._any(present[index] & ~results[index] for index in later)
            passes |= open_rows & present[at] & matches
            open_rows &= ~present[at]
            if not open_rows.any():
                break
        return passes

    def _compare_pair(self, sign: str, left: Operand, right: Operand) -> Column:
        """Return a mask of the rows that satisfy the comparison. Valid only where both operands are present."""
        test = _TESTS[sign]
        for variable, other in ((left, right), (right, left)):
            if isinstance(variable, Variable) and variable.kind in (TermType.NAME, TermType.ADDRESS):
                texts = [str(other.value)] if isinstance(other, Literal) else []
                return attributes.matches_name(self._view, variable.path[0], texts)
        pair = (left, right)
        if all(isinstance(operand, Literal) or _is_fact(operand) for operand in pair):
            return self._of_facts(_ignore_type_errors(test), left, right)
        if any(isinstance(operand, Literal) and isinstance(operand.value, str) for operand in pair):
            return self._no_rows()  # strings are not numbers
        column: Column = test(self._numbers(left), self._numbers(right))
        return column

    def _presence(self, operand: Operand) -> Column:
        if not isinstance(operand, Variable) or operand.kind is TermType.NAME:
            return ~self._no_rows()
        if operand.kind is TermType.NUMBER:
            return ~np.isnan(self._numbers(operand))
        if operand.kind is TermType.ADDRESS:
            return attributes.has_address(self._view)
        return self._of_facts(lambda value: value is not None, operand)

    def _numbers(self, operand: Operand) -> FloatColumn | float:
        if isinstance(operand, Literal):
            return float(operand.value)
        if isinstance(operand, Term):
            return self.truth(operand).astype(np.float64)
        if operand.kind is TermType.FACT:
            return self._view.facts.numbers(".".join(attributes.fact_path(operand.path)))
        return attributes.number(self._view, operand.path)

    def _of_facts(self, test: Callable[..., bool], *operands: Operand) -> Column:
        def is_true(facts: Mapping[str, Any]) -> bool:
            return bool(test(*(_value(facts, operand) for operand in operands)))

        return self._view.facts.where(is_true)

    def _any(self, columns: Iterable[Column]) -> Column:
        return functools.reduce(operator.or_, columns, self._no_rows())

    def _no_rows(self) -> Column:
        return np.zeros(self._view.size, np.bool_)


def _is_fact(operand: Operand) -> bool:
    return isinstance(operand, Variable) and operand.kind is TermType.FACT


def _value(facts: Mapping[str, Any], operand: Operand) -> Any:
    if isinstance(operand, Variable):
        return attributes.lookup(facts, attributes.fact_path(operand.path))
    return operand.value if isinstance(operand, Literal) else None


def _ignore_type_errors(test: Callable[[Any, Any], Any]) -> Callable[[Any, Any], bool]:
    def guarded_test(left: Any, right: Any) -> bool:
        try:
            return bool(test(left, right))
        except TypeError:  # not comparable
            return False

    return guarded_test


FILTER = Filter(NAME, predicates, union((attributes.READS, attributes.COUNT_READS)), reasons=(REASON,))
