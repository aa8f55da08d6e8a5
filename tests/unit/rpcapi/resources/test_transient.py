# SPDX-License-Identifier: Apache-2.0
"""For how long a request is decided again, by its refusal."""

import pytest

from rpcapi import errors
from rpcapi.resources import transient
from rpcapi.resources.transient import CHANGED_MEANWHILE, JUST_DOWN, NOT_AUDITED

FINAL = "service down"


@pytest.mark.parametrize(
    ("reasons", "seconds"),
    [
        ({FINAL: 3}, 0.0),
        ({}, 0.0),
        ({FINAL: 3, JUST_DOWN: 0}, 0.0),
        ({FINAL: 3, JUST_DOWN: 1}, 180.0),
        ({NOT_AUDITED: 1, CHANGED_MEANWHILE: 1}, 180.0),
        ({CHANGED_MEANWHILE: 1}, transient.SECONDS),
    ],
)
def test_refusal_is_final_unless_a_host_may_pass_soon(reasons: dict[str, int], seconds: float) -> None:
    error = errors.NoValidHost(reason="", reasons=reasons)
    assert transient.retry_seconds(error, 180.0) == seconds
    assert transient.retry_seconds(error, 20.0) == min(20.0, seconds)


def test_store_and_worker_that_are_away_are_waited_for() -> None:
    for error in (
        errors.StoreUnavailable(why="away"),
        errors.NotReady(what="This worker", why="it starts"),
        errors.ClaimClosed(consumer="vm", attempt=1),
    ):
        assert transient.retry_seconds(error, 20.0) == 20.0
    assert transient.retry_seconds(errors.UnknownHost(name="h"), 20.0) == 0.0
    assert transient.retry_seconds(errors.DeadlinePassed(request_id="r", late=1.0), 20.0) == 0.0
