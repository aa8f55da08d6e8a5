# SPDX-License-Identifier: Apache-2.0
"""A spec and Nova's query to Placement in one form, and queries that Nova made."""

import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from rpcapi import objects

RECORDED: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "recorded_specs.json").read_text())
REMOTE_MANAGED = "COMPUTE_REMOTE_MANAGED_PORTS"  # Nova adds it before it translates the request


def of_spec(spec: objects.RequestSpec) -> dict[str, Any]:
    """Return the groups and conditions of a spec, without aggregates: Nova adds them to its query later."""
    plain = {
        "resources": spec.resources,
        "required": spec.required_traits,
        "forbidden": spec.forbidden_traits,
    }
    groups = {suffix: _group(group) for suffix, group in {"": plain, **spec.groups}.items()}
    return _conditions(
        groups, spec.groups_policy, set(spec.root_required) - {REMOTE_MANAGED}, spec.root_forbidden, spec.same_subtree
    )


def of_nova(query: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same of a query of Nova."""
    groups = {suffix: _group(group) for suffix, group in query["groups"].items()}
    required, forbidden = set(query["root_required"]), set(query["root_forbidden"])
    if not groups.get("", {"resources": {}})["resources"]:
        plain = groups.pop("", _group({}))
        required, forbidden = required | set(plain["required"]), forbidden | set(plain["forbidden"])
    groups.setdefault("", _group({}))
    return _conditions(groups, query["policy"], required, forbidden, query["same_subtree"])


def _conditions(
    groups: Mapping[str, Mapping[str, Any]],
    policy: str | None,
    required: Iterable[str],
    forbidden: Iterable[str],
    same_subtree: Iterable[Collection[str]],
) -> dict[str, Any]:
    return {
        "groups": groups,
        "policy": policy if len(groups) > 2 else None,
        "root_required": sorted(required),
        "root_forbidden": sorted(forbidden),
        "same_subtree": sorted(sorted(suffixes) for suffixes in same_subtree),
    }


def _group(fields: Mapping[str, Any]) -> dict[str, Any]:
    in_tree = fields.get("in_tree")
    return {
        "resources": dict(fields.get("resources", {})),
        "required": sorted(fields.get("required", [])),
        "forbidden": sorted(fields.get("forbidden", [])),
        "member_of": [list(names) for names in fields.get("member_of", [])],
        "forbidden_aggregates": sorted(fields.get("forbidden_aggregates", [])),
        "in_tree": in_tree and in_tree.removeprefix("@api/"),
    }
