# SPDX-License-Identifier: Apache-2.0
"""Filter of flavor extra specs by host attributes: Nova's ComputeCapabilitiesFilter.

An extra spec in scope ``capabilities`` is a colon-separated path. It begins with an attribute of Nova's HostState or a
key of the host's facts. An extra spec without a scope applies only to hosts with such an attribute or key.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rpcapi.resources import names
from rpcapi.resources.query import ATTRIBUTES, TermType
from scheduler_svc.core.matching import attributes
from scheduler_svc.core.matching.extra_specs import accepted_texts, matches, matches_column
from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import Column
from scheduler_svc.core.table.view import View

NAME = "ComputeCapabilitiesFilter"
SCOPE = "capabilities"
REASON = "capability {}"
# The only extra spec in another scope that Nova matches with host attributes.
ADDRESS_BITS = "hw:maxphysaddr_bits"
ADDRESS_BITS_PATH = ("cpu_info", "maxphysaddr", "bits")


def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    for spec, requirement in request.extra_specs.items():
        scope, *path = spec.split(":")
        if spec == ADDRESS_BITS:
            yield HostPredicate(REASON.format(spec), _matches_capability(view, ADDRESS_BITS_PATH, f">= {requirement}"))
        elif not path:
            column = _matches_if_present(view, scope, requirement)
            if column is not None:
                yield HostPredicate(REASON.format(spec), column)
        elif scope == SCOPE:
            yield HostPredicate(REASON.format(spec.partition(":")[2]), _matches_capability(view, path, requirement))


def _matches_capability(view: View, path: Sequence[str], requirement: str) -> Column:
    kind = TermType.NUMBER if path[0] == "metrics" and len(path) > 1 else ATTRIBUTES.get(path[0], TermType.FACT)
    if kind is TermType.FACT:
        keys = attributes.fact_path(path)
        return view.facts.where(_fact_predicate(keys, requirement), (NAME, *keys, requirement))
    if kind is TermType.NUMBER and path[0] == "metrics":
        return matches_column(attributes.number(view, ("metrics", ":".join(path[1:]))), requirement)
    if len(path) > 1:  # Only facts have nested keys.
        return np.zeros(view.size, np.bool_)
    if kind is TermType.NUMBER:
        return matches_column(attributes.number(view, path), requirement)
    if kind is TermType.ADDRESS:  # addresses support only equality
        return attributes.matches_name(view, path[0], accepted_texts(requirement) or ())
    return view.aggregates.get_or_compute(
        (NAME, path[0], requirement), lambda: _match_names(view, path[0], requirement)
    )


def _match_names(view: View, attribute: str, requirement: str) -> Column:
    """Match each row's name. Callers may cache the result until rows change."""
    all_names = map(view.name, range(view.size))
    matched_names = all_names if attribute in attributes.NODES else map(names.host_of, all_names)
    return np.fromiter((matches(name, requirement) for name in matched_names), np.bool_, view.size)


def _matches_if_present(view: View, key: str, requirement: str) -> Column | None:
    if key in ATTRIBUTES:
        return _matches_capability(view, (key,), requirement)
    if not view.facts.where(lambda facts: key in facts, (NAME, "there", key)).any():
        return None
    matches_fact = _fact_predicate((key,), requirement)
    return view.facts.where(
        lambda facts: key not in facts or matches_fact(facts), (NAME, "where there", key, requirement)
    )


def _fact_predicate(path: Sequence[str], requirement: str) -> Callable[[Mapping[str, Any]], bool]:
    def fact_matches(facts: Mapping[str, Any]) -> bool:
        value = attributes.lookup(facts, path)
        return value is not None and matches(str(value), requirement)

    return fact_matches


FILTER = Filter(NAME, predicates, attributes.READS, reasons=(REASON,))
