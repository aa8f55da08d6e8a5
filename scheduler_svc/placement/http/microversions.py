# SPDX-License-Identifier: Apache-2.0
"""Microversions of the Placement API, from the header ``openstack-api-version``.

https://docs.openstack.org/placement/latest/placement-api-microversion-history.html lists their changes.
"""

import functools
import re
from typing import NamedTuple

import microversion_parse

from scheduler_svc.placement.model.problems import Problem, bad_request

SERVICE = "placement"
HEADER = "openstack-api-version"
_VERSION = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})")


class Microversion(NamedTuple):
    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


OLDEST = Microversion(1, 0)
LATEST = Microversion(1, 39)


@functools.lru_cache(maxsize=256)
def parse(header: str | None) -> Microversion:
    """Return the microversion of a header, the oldest without one; raises Problem 400 or 406."""
    text = microversion_parse.get_version({HEADER: header}, SERVICE) if header is not None else None
    if text is None:
        return OLDEST
    if text == "latest":
        return LATEST
    numbers = _VERSION.fullmatch(text)
    if numbers is None:
        raise bad_request(f"invalid version string: {text:.100}")
    version = Microversion(int(numbers[1]), int(numbers[2]))
    if not OLDEST <= version <= LATEST:
        raise Problem(406, f"Unacceptable version header: {text:.100}")
    return version


def parse_or_latest(header: str | None) -> Microversion:
    try:
        return parse(header)
    except Problem:
        return LATEST
