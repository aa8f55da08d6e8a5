# SPDX-License-Identifier: Apache-2.0
"""Actual state of a cluster: guests on the simulated hypervisors, claims in the store, records, sums."""

import collections
import functools
import json
import time
from collections.abc import Callable, Sequence
from typing import Any

import oslo_messaging as messaging

from devstack import exercise
from rpcapi import errors, objects
from rpcapi.admin import waiting
from tests.support.clusters.clusters import RunningCluster

SETTLE_SECONDS = 60.0
POLL = 0.1


def call_as_agent(cluster: RunningCluster, verb: Callable[..., Any], host: str, *args: Any) -> Any:
    """Call ``verb`` of a client for ``host``, as an agent does that runs on the state folder of that host."""
    session = cluster.admin
    host_uuid = session.call(session.scheduler.get_host_state, "service", host).document["host_uuid"]

    @functools.wraps(verb)
    def send(ctxt: Any, *values: Any) -> Any:
        ctxt.host_uuid = host_uuid
        return verb(ctxt, *values)

    return session.call(send, host, *args)


def until(what: str, condition: Callable[[], Any], seconds: float = SETTLE_SECONDS) -> Any:
    """Return the first true result of ``condition``; unanswered calls are retried."""
    deadline = time.monotonic() + seconds
    last: Any = None
    while True:
        try:
            last = condition()
        except (messaging.MessagingException, errors.Unavailable) as why:
            last = why
        else:
            if last:
                return last
        assert time.monotonic() < deadline, f"{what}: not within {seconds:g} s; last seen: {last!r}"
        time.sleep(POLL)


def guests(running: RunningCluster) -> collections.Counter[tuple[str, str]]:
    """Return the existing guests as {(instance, node): count}, so that duplicates are visible."""
    guest_counts: collections.Counter[tuple[str, str]] = collections.Counter()
    for path in (running.cluster.layout.state / "compute").rglob("*.json"):
        try:
            guest = json.loads(path.read_text())
        except FileNotFoundError:
            continue  # stopped meanwhile
        if "running_at_ms" in guest:
            guest_counts[guest["uuid"], guest["name"]] += 1
    return guest_counts


def claims(running: RunningCluster) -> dict[tuple[str, str], str]:
    """Return the live claims' states by (consumer, host)."""
    session = running.session
    return {
        (claim["consumer"], claim["host"]): claim["state"]
        for claim in session.list_all(session.claims.list_claims, "claims")
    }


def sources(running: RunningCluster) -> dict[str, str]:
    """Return the node of the claim on the source of each move, by migration."""
    session = running.session
    return {
        claim["migration"]: claim["host"]
        for claim in session.list_all(session.claims.list_claims, "claims")
        if claim["role"] == "source"
    }


def wait_for_final_status(
    running: RunningCluster, uuids: Sequence[str], seconds: float = SETTLE_SECONDS
) -> list[objects.Instance]:
    """Wait until every instance is ACTIVE or in ERROR, and return them all.

    ``seconds`` limits the wait for the next of them: how long all take depends on the machine.
    """
    final_count = -1
    while final_count < len(uuids):

        def with_more_final(before: int = final_count) -> tuple[list[objects.Instance], int] | None:
            instances = records(running, uuids)
            count = sum(instance.status in exercise.FINAL_STATUSES for instance in instances)
            return (instances, count) if count > before else None

        instances, final_count = until(
            f"after {max(final_count, 0)} of {len(uuids)} instances another one ACTIVE or in ERROR",
            with_more_final,
            seconds,
        )
    return list(instances)


def assert_consistent(
    running: RunningCluster, uuids: Sequence[str], seconds: float = SETTLE_SECONDS
) -> list[objects.Instance]:
    """Assert that records, claims, guests and sums become consistent, and return the instances.

    Each instance is ACTIVE with one guest under one confirmed claim there, or in ERROR with a reason and neither.
    """
    instances = wait_for_final_status(running, uuids, seconds)
    active = {(instance.uuid, instance.host) for instance in instances if instance.status == "ACTIVE"}
    for instance in instances:
        assert instance.status == "ACTIVE" or instance.reason, f"{instance.uuid} is in ERROR without a reason"
    # An unconfirmed claim ends at its deadline, an orphan after its grace: wait for both.
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


def records(running: RunningCluster, uuids: Sequence[str]) -> list[objects.Instance]:
    """Return the instances as the conductor records them."""
    return waiting.fetch_instances(running.session, uuids)


def wait_for_status(running: RunningCluster, uuids: Sequence[str], status: str) -> None:
    """Wait until all instances have a status, which a comparison of records with claims may have to set."""
    until(
        f"all are {status}", lambda: {item.status for item in records(running, uuids)} == {status}, 2 * SETTLE_SECONDS
    )
