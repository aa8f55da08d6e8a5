# SPDX-License-Identifier: Apache-2.0
"""Validation of hosts, aggregates and provider trees in a request."""

from typing import Any

from rpcapi import errors
from rpcapi.resources import names
from rpcapi.validation.text import (
    abbreviate,
    check_keys,
    check_list,
    check_text,
    check_texts,
    invalid_spec,
    join_names,
)

MAX_HOSTS = 1000  # per list
MAX_AGGREGATES = 1000  # per list
DESTINATION_KEYS = ("host", "partition", "allow_cross_cell_move")


def check_hosts(ignored: Any, forced: Any) -> None:
    """Raise InvalidSpec or InvalidName for an invalid host name, or if every forced host is ignored."""
    for label, hosts in (("ignore_hosts", ignored), ("force_hosts", forced)):
        if len(hosts) > MAX_HOSTS:
            raise invalid_spec(f"{label} may contain at most {MAX_HOSTS} names")
        for name in hosts:
            names.canonical(name)
    ignored_names = set(ignored)
    if forced and all(name in ignored_names or names.host_of(name) in ignored_names for name in set(forced)):
        raise invalid_spec("every host in force_hosts is also in ignore_hosts")


def check_destination(destination: Any) -> None:
    """Raise InvalidSpec or InvalidName unless ``destination`` is a valid RequestSpec.requested_destination."""
    check_keys("the requested destination", destination, DESTINATION_KEYS)
    check_text("partition of the requested destination", destination.get("partition"))
    if not isinstance(destination.get("allow_cross_cell_move", False), bool):
        raise invalid_spec("allow_cross_cell_move of the requested destination must be a boolean")
    host = destination.get("host")
    if host is not None:
        names.canonical(host)


def check_aggregates(member_of: Any, forbidden: Any, qualifier: str = "") -> None:
    """Raise InvalidSpec for bad aggregates; a provider must be in one of each list in ``member_of``."""
    check_texts(f"the forbidden aggregates{qualifier}", forbidden, MAX_AGGREGATES)
    check_list(f"member_of{qualifier}", member_of, MAX_AGGREGATES)
    for alternatives in member_of:
        check_texts(f"a list in member_of{qualifier}", alternatives, MAX_AGGREGATES)
        if not alternatives:
            raise invalid_spec(f"a list in member_of{qualifier} is empty: it must name at least one aggregate")
        if set(alternatives) <= set(forbidden):
            raise invalid_spec(
                f"member_of{qualifier} requires one of {join_names(alternatives)}, but all are forbidden"
            )
    for name in (*forbidden, *(name for alternatives in member_of for name in alternatives)):
        check_text("name of an aggregate", name)


def check_tree(in_tree: Any, qualifier: str = "") -> None:
    """Raise InvalidSpec or InvalidName unless ``in_tree`` is None or a provider's canonical name."""
    if in_tree is None:
        return
    if not isinstance(in_tree, str):
        raise invalid_spec(f"in_tree{qualifier} must be a provider name, not {abbreviate(in_tree)}")
    if names.canonical(in_tree) != in_tree:
        raise errors.InvalidName(name=in_tree, why="it is not in its canonical form")
