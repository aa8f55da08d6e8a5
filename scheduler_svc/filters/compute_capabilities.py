# SPDX-License-Identifier: Apache-2.0
"""Is the host what the flavor asks of hosts themselves? Nova's ComputeCapabilitiesFilter.

Extra specs of the scope ``capabilities`` name an attribute of Nova's HostState or a key of the host's facts, and below
it what their colons lead to; without a scope they do so where the host has such a one, and are no matter where not.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rpcapi.model import names
from rpcapi.model.query import ATTRIBUTES, Kind
from scheduler_svc.filters import attributes
from scheduler_svc.filters.extra_specs import matches, matching, texts
from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.columns import Column
from scheduler_svc.table.view import View

NAME = "ComputeCapabilitiesFilter"
SCOPE = "capabilities"
REASON = "capability {}"
# Nova's one extra spec of another scope that is about hosts themselves.
ADDRESS_BITS = "hw:maxphysaddr_bits"
ADDRESS_BITS_PATH = ("cpu_info", "maxphysaddr", "bits")


def sieves(view: View, request: Request) -> Iterator[Sieve]:
    """Let hosts pass that are what each of these extra specs wants."""
    for spec, wanted in request.extra_specs.items():
        scope, *path = spec.split(":")
        if spec == ADDRESS_BITS:
            yield Sieve(REASON.format(spec), _capable(view, ADDRESS_BITS_PATH, f">= {wanted}"))
        elif not path:
            column = _where_there(view, scope, wanted)
            if column is not None:
                yield Sieve(REASON.format(spec), column)
        elif scope == SCOPE:
            yield Sieve(REASON.format(spec.partition(":")[2]), _capable(view, path, wanted))


def _capable(view: View, path: Sequence[str], wanted: str) -> Column:
    kind = Kind.NUMBER if path[0] == "metrics" and len(path) > 1 else ATTRIBUTES.get(path[0], Kind.FACT)
    if kind is Kind.FACT:
        keys = attributes.fact(path)
        return view.facts.where(_having(keys, wanted), (NAME, *keys, wanted))
    if kind is Kind.NUMBER and path[0] == "metrics":
        return matching(attributes.number(view, ("metrics", ":".join(path[1:]))), wanted)
    if len(path) > 1:  # nothing is below a number or a name
        return np.zeros(view.size, np.bool_)
    if kind is Kind.NUMBER:
        return matching(attributes.number(view, path), wanted)
    if kind is Kind.ADDRESS:  # is compared, and nothing else asked of it
        return attributes.called(view, path[0], texts(wanted) or ())
    return view.aggregates.once((NAME, path[0], wanted), lambda: _named(view, path[0], wanted))


def _named(view: View, attribute: str, wanted: str) -> Column:
    """Look at each name: it stays what it is, so that this is kept as long as anything is."""
    every = map(view.name, range(view.size))
    called = every if attribute in attributes.NODES else map(names.host_of, every)
    return np.fromiter((matches(name, wanted) for name in called), np.bool_, view.size)


def _where_there(view: View, key: str, wanted: str) -> Column | None:
    if key in ATTRIBUTES:
        return _capable(view, (key,), wanted)
    if not view.facts.where(lambda facts: key in facts, (NAME, "there", key)).any():
        return None
    having = _having((key,), wanted)
    return view.facts.where(lambda facts: key not in facts or having(facts), (NAME, "where there", key, wanted))


def _having(path: Sequence[str], wanted: str) -> Callable[[Mapping[str, Any]], bool]:
    def has(facts: Mapping[str, Any]) -> bool:
        value = attributes.found(facts, path)
        return value is not None and matches(str(value), wanted)

    return has


FILTER = Filter(NAME, sieves, attributes.READS)
