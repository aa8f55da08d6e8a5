# SPDX-License-Identifier: Apache-2.0
"""Success of an exercise, and the report of faults."""

import pytest

from devstack import report
from devstack.exercise import ExerciseResult
from rpcapi import objects


def instance(uuid: str, host: str | None = "h1/n1", status: str = "ACTIVE", reason: str | None = None):
    return objects.Instance.of(
        uuid=uuid,
        request_id="req-1",
        project_id="p",
        user_id="u",
        flavor="m1.tiny",
        status=status,
        host=host,
        attempt=1,
        reason=reason,
        history=[],
        created_ms=1,
        updated_ms=1,
    )


def claim(consumer: str, host: str = "h1/n1", state: str = "confirmed") -> dict[str, str]:
    return {"consumer": consumer, "host": host, "state": state}


def verify(**values: object) -> objects.VerifyReport:
    fields = {"claims": {"confirmed": 2}, "problems": [], "excess": []} | values
    return objects.VerifyReport.of(partition="p", epoch=1, position=1, providers=1, **fields)


def test_active_servers_with_confirmed_claims_and_consistent_sums_are_ok() -> None:
    result = ExerciseResult([instance("a"), instance("b", "h2/n1")], [claim("a"), claim("b", "h2/n1")], verify())
    assert result.ok
    assert "Servers: 2 ACTIVE. Claims: 2 confirmed. Verify: clean." in report.text(result)


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (
            ExerciseResult([instance("a", None, "ERROR", "No valid host: 9 ram")], [], verify()),
            "1 in ERROR: No valid host",
        ),
        (ExerciseResult([instance("a")], [], verify()), "ACTIVE without a confirmed claim: a"),
        (ExerciseResult([instance("a")], [claim("a", state="prepared")], verify()), "without a confirmed claim: a"),
        (ExerciseResult([instance("a")], [claim("a", "h2/n1")], verify()), "ACTIVE without a confirmed claim: a"),
        (ExerciseResult([instance("a")], [claim("a")], verify(problems=["sum"])), "NOT CLEAN: ['sum']"),
        (ExerciseResult([instance("a")], [claim("a")], verify(excess=[{"provider": "h1"}])), "NOT CLEAN"),
        (ExerciseResult([instance("a")], [claim("a")], None), "Nothing was verified"),
    ],
)
def test_faults_are_not_ok_and_are_reported(result: ExerciseResult, text: str) -> None:
    assert not result.ok
    assert text in report.text(result)
