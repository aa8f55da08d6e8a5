# SPDX-License-Identifier: Apache-2.0
"""Stored data decode to what was encoded."""

from dataclasses import replace
from typing import Any

import pytest

from rpcapi import errors
from rpcapi.resources.claims import GroupPolicy
from scheduler_svc.core.records import Claim, ClaimGroup
from scheduler_svc.store import codecs
from scheduler_svc.store.registrations import AppliedReport

GROUP = ClaimGroup("g1", GroupPolicy.ANTI_AFFINITY, 2)
CLAIM = Claim("c1", 1, 1, "INSTANCE", "p", "u", "confirmed", "h1", {"h1": {"VCPU": 3}}, "req-1", 0)


@pytest.mark.parametrize(
    ("codec", "value"),
    [
        (codecs.PLAIN, 7),
        (codecs.JSON, {"VCPU": [8, 1, 4, 1]}),
        (codecs.ENDS, {1: "aborted", 12: "released"}),
        (codecs.CLAIM, CLAIM),
        (
            codecs.CLAIM,
            replace(CLAIM, deadline_ms=5, alternates=("h2", "h3"), group=GROUP, instance="c0", migration="m1"),
        ),
        (codecs.REPORT, AppliedReport(10**19, 4, ("h1/n1", "h1/n2"))),
        (codecs.REPORT, AppliedReport(2**80, 4, (), "agent", 1_700_000_000_000)),
        (codecs.PIN, ("cell1", 99)),
        (codecs.PROVIDER, {"schema": 1, "id": "h1"}),
        (codecs.SERVICE, {"schema": 1, "binary": "gantt-compute"}),
    ],
)
def test_encoded_value_is_decoded(codec: codecs.Codec, value: Any) -> None:
    assert codec.decode(codec.encode(value)) == value


@pytest.mark.parametrize("codec", [codecs.CLAIM, codecs.REPORT, codecs.PROVIDER, codecs.SERVICE])
def test_column_of_a_newer_schema_is_rejected(codec: codecs.Codec) -> None:
    with pytest.raises(errors.IncompatibleObject):
        codec.decode('{"schema":2}')
