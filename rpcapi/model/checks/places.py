# SPDX-License-Identifier: Apache-2.0
"""Hosts, aggregates and trees that a request names."""

from typing import Any

from rpcapi import errors
from rpcapi.model import names
from rpcapi.model.checks.text import check_list, check_text, check_texts, listed, refuse, shown

MAX_HOSTS = 1000  # names in ignore_hosts, and in force_hosts
MAX_AGGREGATES = 1000  # names in one list of aggregates


def check_hosts(ignored: Any, forced: Any) -> None:
    """Raise InvalidSpec or InvalidName for hosts that cannot be meant, or of which none is left."""
    for what, hosts in (("ignore_hosts", ignored), ("force_hosts", forced)):
        if len(hosts) > MAX_HOSTS:
            raise refuse(f"{what} holds more than {MAX_HOSTS} names")
        for name in hosts:
            names.canonical(name)
    avoided = set(ignored)
    if forced and all(name in avoided or names.host_of(name) in avoided for name in set(forced)):
        raise refuse("every host in force_hosts is also in ignore_hosts: none is left")


def check_aggregates(member_of: Any, forbidden: Any, whose: str = "") -> None:
    """Raise InvalidSpec for aggregates that nobody can be in; of each list in ``member_of`` one holds a provider."""
    check_texts(f"the forbidden aggregates{whose}", forbidden, MAX_AGGREGATES)
    check_list(f"member_of{whose}", member_of, MAX_AGGREGATES)
    for each in member_of:
        check_texts(f"a list in member_of{whose}", each, MAX_AGGREGATES)
        if not each:
            raise refuse(f"a list in member_of{whose} is empty: no host can be in one of no aggregates")
        if set(each) <= set(forbidden):
            raise refuse(f"member_of{whose} asks for one of {listed(each)}, and all of them are forbidden")
    for name in (*forbidden, *(name for each in member_of for name in each)):
        check_text("name of an aggregate", name)


def check_tree(in_tree: Any, whose: str = "") -> None:
    """Raise InvalidSpec or InvalidName unless ``in_tree`` is None or could name a provider."""
    if in_tree is None:
        return
    if not isinstance(in_tree, str):
        raise refuse(f"in_tree{whose} must be the name of a provider, not {shown(in_tree)}")
    if names.canonical(in_tree) != in_tree:
        raise errors.InvalidName(name=in_tree, why="it is not in its canonical form")
