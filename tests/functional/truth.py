# SPDX-License-Identifier: Apache-2.0
"""What is really so in a cluster: guests on the simulated hypervisors, claims in the store, records, sums."""

import collections
import json
import time
from collections.abc import Callable, Sequence
from typing import Any

import oslo_messaging as messaging

from devstack import exercise
from rpcapi import errors, objects
from tests.functional.clusters import Running

SETTLE_SECONDS = 60.0
POLL = 0.1


def until(what: str, found: Callable[[], Any], seconds: float = SETTLE_SECONDS) -> Any:
    """Return the first true answer of ``found``; a service that does not answer yet is asked again."""
    deadline = time.monotonic() + seconds
    last: Any = None
    while True:
        try:
            last = found()
        except (messaging.MessagingException, errors.Unavailable) as why:
            last = why
        else:
            if last:
                return last
        assert time.monotonic() < deadline, f"{what}: not within {seconds:g} s; last seen: {last!r}"
        time.sleep(POLL)


def guests(running: Running) -> collections.Counter[tuple[str, str]]:
    """Return the guests that are there, as (instance, node), each counted: two copies are never merged."""
    found: collections.Counter[tuple[str, str]] = collections.Counter()
    for path in (running.cluster.layout.state / "compute").rglob("*.json"):
        try:
            guest = json.loads(path.read_text())
        except FileNotFoundError:
            continue  # stopped while we looked
        if "running_at_ms" in guest:
            found[guest["uuid"], guest["name"]] += 1
    return found


def claims(running: Running) -> dict[tuple[str, str], str]:
    """Return the live claims' states by (consumer, host)."""
    session = running.session
    return {
        (claim["consumer"], claim["host"]): claim["state"]
        for claim in session.list_all(session.claims.list_claims, "claims")
    }


def settled(running: Running, uuids: Sequence[str], seconds: float = SETTLE_SECONDS) -> list[objects.Instance]:
    """Wait until every instance is ACTIVE or in ERROR, and return them all."""

    def found() -> list[objects.Instance]:
        instances = records(running, uuids)
        return instances if all(instance.status in exercise.FINAL_STATUSES for instance in instances) else []

    return until("every instance ACTIVE or in ERROR", found, seconds)


def assert_sound(running: Running, uuids: Sequence[str], seconds: float = SETTLE_SECONDS) -> list[objects.Instance]:
    """Assert that records, claims, guests and sums tell one story in the end, and return the instances.

    Each instance is ACTIVE with one guest under one confirmed claim there, or in ERROR with a reason and neither.
    """
    instances = settled(running, uuids, seconds)
    active = {(instance.uuid, instance.host) for instance in instances if instance.status == "ACTIVE"}
    for instance in instances:
        assert instance.status == "ACTIVE" or instance.reason, f"{instance.uuid} is in ERROR without a reason"
    # A claim that nobody will confirm ends by its deadline, an orphan after its grace: wait for both.
    until(
        "exactly the ACTIVE instances hold claims and have guests",
        lambda: (
            {key: state for key, state in claims(running).items() if key[0] in set(uuids)}
            == dict.fromkeys(active, "confirmed")
            and {key: count for key, count in guests(running).items() if key[0] in set(uuids)}
            == dict.fromkeys(active, 1)
        ),
        seconds,
    )
    report = running.session.call(running.session.claims.verify)
    assert report.clean, (report.problems, report.excess)
    return instances


def records(running: Running, uuids: Sequence[str]) -> list[objects.Instance]:
    """Return the instances as the conductor records them."""
    return exercise.waiting.fetch_instances(running.session, uuids)
