# SPDX-License-Identifier: Apache-2.0
"""Schemas of usages."""

from scheduler_svc.placement.http.schemas.validators import NAME_PATTERN, Schema, once, query

_OWNER: Schema = {"type": "string", "minLength": 1, "maxLength": 255}
_OWNERS = {"project_id": once(_OWNER), "user_id": once(_OWNER)}
_TYPE: Schema = {"type": "string", "pattern": f"{NAME_PATTERN}|^all|^unknown$", "minLength": 1, "maxLength": 255}

# (first minor microversion, parameters), latest first
TOTAL = (
    (38, query({**_OWNERS, "consumer_type": once(_TYPE)}, ["project_id"])),
    (9, query(_OWNERS, ["project_id"])),
)
