# SPDX-License-Identifier: Apache-2.0
"""Validation of suffixed request groups, groups policy and same_subtree."""

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from rpcapi.resources.groups import POLICIES, RequestGroup
from rpcapi.validation import amounts, places, traits
from rpcapi.validation.text import abbreviate, check_keys, check_list, check_mapping, check_texts, invalid_spec

MAX_GROUPS = 64
MAX_SUBTREES = 64
SUFFIX = re.compile(r"[A-Za-z0-9_-]{1,64}")
KEYS = frozenset(field.name for field in fields(RequestGroup)) - {"suffix"}


def check(groups: Any, policy: Any, same_subtree: Any) -> None:
    """Raise InvalidSpec, UnknownTrait, UnknownResourceClass or InvalidName for invalid groups."""
    check_mapping("the request groups", groups, MAX_GROUPS)
    _subtrees(same_subtree, groups)
    in_subtree = {suffix for subtree in same_subtree for suffix in subtree}
    for suffix, group in groups.items():
        if not SUFFIX.fullmatch(suffix):
            raise invalid_spec(f"a group suffix must be 1 to 64 letters, digits, '_' or '-', not {abbreviate(suffix)}")
        _group(suffix, group, suffix in in_subtree)
    if policy is not None and policy not in POLICIES:
        raise invalid_spec(f"unknown groups policy {abbreviate(policy)}; known: {', '.join(POLICIES)}")
    if policy is None and len(groups) > 1:
        raise invalid_spec(f"{len(groups)} request groups need a groups policy: {' or '.join(POLICIES)}")


def _group(suffix: str, group: Any, in_subtree: bool) -> None:
    qualifier = f" of group {suffix!r}"
    check_keys(f"group {suffix!r}", group, KEYS)
    amounts.check(group.get("resources", {}), qualifier)
    if not group.get("resources") and not in_subtree:
        raise invalid_spec(f"group {suffix!r} requests no resources; only groups named by same_subtree may")
    check_providers(group, qualifier)


def check_providers(group: Mapping[str, Any], qualifier: str) -> None:
    traits.check(group.get("required", ()), group.get("any_of", ()), group.get("forbidden", ()), qualifier)
    places.check_aggregates(group.get("member_of", ()), group.get("forbidden_aggregates", ()), qualifier)
    places.check_tree(group.get("in_tree"), qualifier)


def _subtrees(same_subtree: Any, groups: Mapping[str, Any]) -> None:
    check_list("same_subtree", same_subtree, MAX_SUBTREES)
    for suffixes in same_subtree:
        check_texts("a list in same_subtree", suffixes, MAX_GROUPS)
        unknown = [suffix for suffix in suffixes if suffix not in groups]
        if unknown or not suffixes:
            problem = f"group {abbreviate(unknown[0])}, which is not in the request" if unknown else "no group"
            raise invalid_spec(f"same_subtree names {problem}")
