# SPDX-License-Identifier: Apache-2.0
"""What is called good, and what the table tells of the rest."""

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
    given = {"claims": {"confirmed": 2}, "problems": [], "excess": []} | values
    return objects.VerifyReport.of(partition="p", epoch=1, position=1, providers=1, **given)


def test_all_active_under_confirmed_claims_with_right_sums_is_good() -> None:
    outcome = ExerciseResult([instance("a"), instance("b", "h2/n1")], [claim("a"), claim("b", "h2/n1")], verify())
    assert outcome.ok
    assert "Servers: 2 ACTIVE. Claims: 2 confirmed. Verify: clean." in report.text(outcome)


@pytest.mark.parametrize(
    ("outcome", "told"),
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
def test_anything_less_is_not_and_is_told(outcome: ExerciseResult, told: str) -> None:
    assert not outcome.ok
    assert told in report.text(outcome)
