# SPDX-License-Identifier: Apache-2.0
"""Schemas of queries for allocation candidates."""

from scheduler_svc.endpoints.placement.schemas.validators import TEXT, Schema, query

NUMBER = "[1-9][0-9]*"  # suffixes of request groups
SUFFIX = "[a-zA-Z0-9_-]{1,64}"  # from microversion 1.33
_MAX_DIGITS = 18

_RESOURCES = {"resources": TEXT}
_LIMIT: Schema = {"limit": {"type": "string", "pattern": "^[1-9][0-9]*$", "maxLength": _MAX_DIGITS}}
_POLICY: Schema = {"group_policy": {"type": "string", "enum": ["none", "isolate"]}}
_GROUPS_1_25 = ("resources", "required", "member_of")
_GROUPS_1_31 = (*_GROUPS_1_25, "in_tree")


def _patterns(names: tuple[str, ...], suffix: str) -> Schema:
    return {f"^{name}({suffix})?$": TEXT for name in names}


# The parameters, by the minor microversion from which they hold; the latest first.
LIST = (
    (
        36,
        query(
            {**_LIMIT, **_POLICY, "root_required": TEXT, "same_subtree": TEXT},
            patterns=_patterns(_GROUPS_1_31, SUFFIX),
        ),
    ),
    (35, query({**_LIMIT, **_POLICY, "root_required": TEXT}, patterns=_patterns(_GROUPS_1_31, SUFFIX))),
    (33, query({**_LIMIT, **_POLICY}, patterns=_patterns(_GROUPS_1_31, SUFFIX))),
    (31, query({**_LIMIT, **_POLICY}, patterns=_patterns(_GROUPS_1_31, NUMBER))),
    (25, query({**_LIMIT, **_POLICY}, patterns=_patterns(_GROUPS_1_25, NUMBER))),
    (21, query({**_RESOURCES, **_LIMIT, "required": TEXT, "member_of": TEXT}, ["resources"])),
    (17, query({**_RESOURCES, **_LIMIT, "required": TEXT}, ["resources"])),
    (16, query({**_RESOURCES, **_LIMIT}, ["resources"])),
    (0, query(_RESOURCES, ["resources"])),
)
