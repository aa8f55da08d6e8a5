# SPDX-License-Identifier: Apache-2.0
"""Minor microversions of the Placement API (1.x), from header ``openstack-api-version``.

https://docs.openstack.org/placement/latest/placement-api-microversion-history.html lists their changes.
"""

import functools
import re

import microversion_parse

from scheduler_svc.placement.model.problems import Problem, bad_request

SERVICE = "placement"
HEADER = "openstack-api-version"
_VERSION = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})")

OLDEST, LATEST = 0, 39


@functools.lru_cache(maxsize=256)
def parse(header: str | None) -> int:
    """Return the header's microversion, the oldest without a header. Raises Problem 400 or 406."""
    text = microversion_parse.get_version({HEADER: header}, SERVICE) if header is not None else None
    if text is None:
        return OLDEST
    if text == "latest":
        return LATEST
    numbers = _VERSION.fullmatch(text)
    if numbers is None:
        raise bad_request(f"invalid version string: {text:.100}")
    major, minor = map(int, numbers.groups())
    if major != 1 or minor > LATEST:
        raise Problem(406, f"Unacceptable version header: {text:.100}")
    return minor


def parse_or_latest(header: str | None) -> int:
    try:
        return parse(header)
    except Problem:
        return LATEST
