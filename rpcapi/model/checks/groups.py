# SPDX-License-Identifier: Apache-2.0
"""Request groups: what the suffixed ones ask, whether they may share, and which belong together in a tree."""

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from rpcapi.model.checks import amounts, places, traits
from rpcapi.model.checks.text import check_keys, check_list, check_mapping, check_texts, refuse, shown
from rpcapi.model.groups import POLICIES, RequestGroup

MAX_GROUPS = 64
MAX_SUBTREES = 64
SUFFIX = re.compile(r"[A-Za-z0-9_-]{1,64}")
KEYS = frozenset(each.name for each in fields(RequestGroup)) - {"suffix"}


def check(groups: Any, policy: Any, same_subtree: Any) -> None:
    """Raise InvalidSpec, UnknownTrait, UnknownResourceClass or InvalidName for groups that cannot be served."""
    check_mapping("the request groups", groups, MAX_GROUPS)
    _subtrees(same_subtree, groups)
    bound = {suffix for subtree in same_subtree for suffix in subtree}
    for suffix, told in groups.items():
        if not SUFFIX.fullmatch(suffix):
            raise refuse(f"a group's suffix must be 1 to 64 of letters, digits, '_' and '-', not {shown(suffix)}")
        _group(suffix, told, suffix in bound)
    if policy is not None and policy not in POLICIES:
        raise refuse(f"there is no groups policy {shown(policy)}; known: {', '.join(POLICIES)}")
    if policy is None and len(groups) > 1:
        raise refuse(f"{len(groups)} request groups need a groups policy: {' or '.join(POLICIES)}")


def _group(suffix: str, told: Any, bound: bool) -> None:
    whose = f" of group {suffix!r}"
    check_keys(f"group {suffix!r}", told, KEYS)
    amounts.check(told.get("resources", {}), whose)
    if not told.get("resources") and not bound:
        raise refuse(f"group {suffix!r} asks for no resources; only one that same_subtree names may")
    check_providers(told, whose)


def check_providers(told: Mapping[str, Any], whose: str) -> None:
    """Raise for what a group asks of its providers beside resources: keys as RequestGroup has them."""
    traits.check(told.get("required", ()), told.get("any_of", ()), told.get("forbidden", ()), whose)
    places.check_aggregates(told.get("member_of", ()), told.get("forbidden_aggregates", ()), whose)
    places.check_tree(told.get("in_tree"), whose)


def _subtrees(same_subtree: Any, groups: Mapping[str, Any]) -> None:
    check_list("same_subtree", same_subtree, MAX_SUBTREES)
    for each in same_subtree:
        check_texts("a list in same_subtree", each, MAX_GROUPS)
        unknown = [suffix for suffix in each if suffix not in groups]
        if unknown or not each:
            named = f"group {shown(unknown[0])}, which is not asked for" if unknown else "no group"
            raise refuse(f"same_subtree names {named}")
