# SPDX-License-Identifier: Apache-2.0
"""Where an instance may go from where it is; pure functions of its record."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from conductor.store.records import Instance, Status, Step


def proceed(instance: Instance, step: Step, **changes: Any) -> Instance:
    """Return it with its next step, to be taken at once unless ``wake_ms`` says when."""
    return replace(instance, step=step, **{"wake_ms": 0, "tries": 0, "since_ms": 0, **changes})


def finish(instance: Instance, status: Status, **changes: Any) -> Instance:
    """Return it in ``status`` with no step left."""
    return proceed(instance, Step.DONE, status=status, **changes)


def placed(
    instance: Instance,
    attempt: int,
    host: str,
    alternates: Sequence[str],
    *,
    allocations: Mapping[str, Mapping[str, int]] | None,
    **changes: Any,
) -> Instance:
    """Return it with a claim on ``host``, which has to be told to build."""
    return proceed(
        instance,
        Step.CAST,
        status=Status.BUILDING,
        attempt=attempt,
        host=host,
        allocations=allocations,
        alternates=tuple(alternates),
        asked=False,
        reason=None,
        **changes,
    )


def ended(instance: Instance, outcome: str, reason: str) -> Instance:
    """Return it with the end of its present attempt in its history, once."""
    if instance.has_ended(instance.attempt):
        return instance
    entry = {"attempt": instance.attempt, "host": instance.host, "outcome": outcome, "reason": reason}
    return replace(instance, history=[*instance.history, entry])


def attempts(instance: Instance) -> str:
    """Return a sentence with the reason of each attempt that ended."""
    told = [
        f"attempt {entry['attempt']} on {entry['host']} {entry['outcome']}: {entry['reason']}"
        for entry in instance.history
    ]
    return "; ".join(told) or "no attempt was made"
