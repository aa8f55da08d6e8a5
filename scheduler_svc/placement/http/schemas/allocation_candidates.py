# SPDX-License-Identifier: Apache-2.0
"""Schemas of queries for allocation candidates.

Like Placement, the handler uses the first of several limits or group policies and, before 1.39, the last ``required``
of a group.
"""

from scheduler_svc.placement.http.schemas.validators import TEXT, Schema, once, query, repeatable

NUMBER = "[1-9][0-9]*"  # pattern of a request group's suffix
SUFFIX = "[a-zA-Z0-9_-]{1,64}"  # the pattern since microversion 1.33
_MAX_DIGITS = 18

_RESOURCES = {"resources": once(TEXT)}
_REQUIRED = {"required": repeatable(TEXT)}
_MEMBER_OF = {"member_of": repeatable(TEXT)}
_LIMIT = {"limit": repeatable({"type": "string", "pattern": "^[1-9][0-9]*$", "maxLength": _MAX_DIGITS})}
_POLICY = {"group_policy": repeatable({"type": "string", "enum": ["none", "isolate"]})}
_ROOT_REQUIRED = {"root_required": once(TEXT)}
_SAME_SUBTREE = {"same_subtree": repeatable(TEXT)}
_GROUPS_1_25 = {**_RESOURCES, **_REQUIRED, **_MEMBER_OF}
_GROUPS_1_31 = {**_GROUPS_1_25, "in_tree": once(TEXT)}


def _patterns(parameters: Schema, suffix: str) -> Schema:
    return {f"^{name}({suffix})?$": schema for name, schema in parameters.items()}


# (first minor microversion, parameters), latest first
LIST = (
    (36, query({**_LIMIT, **_POLICY, **_ROOT_REQUIRED, **_SAME_SUBTREE}, patterns=_patterns(_GROUPS_1_31, SUFFIX))),
    (35, query({**_LIMIT, **_POLICY, **_ROOT_REQUIRED}, patterns=_patterns(_GROUPS_1_31, SUFFIX))),
    (33, query({**_LIMIT, **_POLICY}, patterns=_patterns(_GROUPS_1_31, SUFFIX))),
    (31, query({**_LIMIT, **_POLICY}, patterns=_patterns(_GROUPS_1_31, NUMBER))),
    (25, query({**_LIMIT, **_POLICY}, patterns=_patterns(_GROUPS_1_25, NUMBER))),
    (21, query({**_RESOURCES, **_LIMIT, **_REQUIRED, **_MEMBER_OF}, ["resources"])),
    (17, query({**_RESOURCES, **_LIMIT, **_REQUIRED}, ["resources"])),
    (16, query({**_RESOURCES, **_LIMIT}, ["resources"])),
    (0, query(_RESOURCES, ["resources"])),
)
