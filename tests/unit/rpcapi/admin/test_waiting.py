# SPDX-License-Identifier: Apache-2.0
"""Waiting for servers, with an injected clock."""

from contextlib import contextmanager
from types import SimpleNamespace

import oslo_messaging as messaging
import pytest

from rpcapi import errors
from rpcapi.admin import waiting

ENDS = ("ACTIVE", "ERROR")


class Clock:
    def __init__(self):
        self.now = 100.0
        self.pauses = []

    def sleep(self, seconds):
        self.pauses.append(seconds)
        self.now += seconds


class Instances:
    """Records whose status is the next of a list, then stays; None: there is no record any more."""

    def __init__(self, statuses):
        self.statuses = {uuid: list(values) for uuid, values in statuses.items()}
        self.calls = []

    def get_instances(self, uuids):
        self.calls.append(list(uuids))
        present = {uuid: self.statuses[uuid][0] for uuid in uuids}
        for uuid, status in present.items():
            if status is None:
                raise errors.UnknownInstance(uuid=uuid)
        for uuid in uuids:
            if len(self.statuses[uuid]) > 1:
                self.statuses[uuid].pop(0)
        return SimpleNamespace(
            instances=[SimpleNamespace(uuid=uuid, status=status) for uuid, status in present.items()]
        )


class Bar:
    def __init__(self):
        self.steps = []

    def update(self, steps):
        self.steps.append(steps)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    # Of this module only: threads of other tests may sleep meanwhile.
    monkeypatch.setattr(waiting, "time", SimpleNamespace(monotonic=lambda: clock.now, sleep=clock.sleep))
    return clock


class Session:
    """A session whose calls reach ``conductor``, with the limit of each."""

    def __init__(self, conductor):
        self.conductor = conductor
        self.limits = []

    @contextmanager
    def limit_calls(self, seconds):
        self.limits.append(seconds)
        yield

    def call(self, method, *args):
        return method(*args)


def wait(statuses, timeout=60.0):
    instances, bar = Instances(statuses), Bar()
    session = Session(instances)
    records = waiting.wait_for_status(session, list(statuses), ENDS, timeout, bar)
    return {uuid: record.status for uuid, record in records.items()}, instances.calls, bar.steps


def test_only_unfinished_servers_are_fetched_again(clock):
    records, calls, steps = wait({"a": ["ACTIVE"], "b": ["BUILDING", "BUILDING", "ERROR"], "c": ["BUILDING", "ACTIVE"]})
    assert records == {"a": "ACTIVE", "b": "ERROR", "c": "ACTIVE"}
    assert calls == [["a", "b", "c"], ["b", "c"], ["b"]]
    assert steps == [1, 1, 1]


def test_pauses_grow_up_to_a_limit(clock):
    wait({"a": ["BUILDING"]}, timeout=30.0)
    assert clock.pauses[:3] == pytest.approx([0.1, 0.15, 0.225])
    assert max(clock.pauses) == waiting.LONGEST_PAUSE


def test_wait_ends_before_its_timeout_with_the_present_records(clock):
    records, _, steps = wait({"a": ["BUILDING"], "b": ["ACTIVE"]}, timeout=5.0)
    assert records == {"a": "BUILDING", "b": "ACTIVE"}
    assert clock.now <= 105.0
    assert sum(steps) == 1


def test_timeout_of_zero_reads_the_records_once(clock):
    records, calls, _ = wait({"a": ["BUILDING"]}, timeout=0.0)
    assert (records, len(calls), clock.pauses) == ({"a": "BUILDING"}, 1, [])


class SilentAfter:
    """A conductor that answers ``answers`` calls; each further one takes the rest of its time."""

    def __init__(self, clock, answers):
        self.clock, self.answers = clock, answers

    def get_instances(self, uuids):
        if not self.answers:
            self.clock.now = 100.0 + 30.0
            raise messaging.MessagingTimeout("no reply")
        self.answers -= 1
        return SimpleNamespace(instances=[SimpleNamespace(uuid=uuid, status="BUILDING") for uuid in uuids])


def test_wait_for_a_silent_conductor_ends_with_the_last_records(clock):
    session = Session(SilentAfter(clock, 2))
    records = waiting.wait_for_status(session, ["a"], ENDS, 30.0, Bar())
    assert [record.status for record in records.values()] == ["BUILDING"]
    assert session.limits == pytest.approx([30.0, 29.9, 29.75])


def test_wait_without_any_answer_ends_in_its_error(clock):
    with pytest.raises(messaging.MessagingTimeout):
        waiting.wait_for_status(Session(SilentAfter(clock, 0)), ["a"], ENDS, 30.0, Bar())


def test_server_without_record_is_finished_and_omitted(clock):
    records, _, steps = wait({"a": ["BUILDING", None], "b": ["BUILDING", "BUILDING", "ACTIVE"]})
    assert records == {"b": "ACTIVE"}
    assert sum(steps) == 2


def test_records_are_fetched_in_chunks_and_in_order(monkeypatch):
    uuids = [f"i{number}" for number in range(2 * waiting.CHUNK + 1)]
    instances = Instances({uuid: ["ACTIVE"] for uuid in uuids})
    session = SimpleNamespace(conductor=instances, call=lambda method, *args: method(*args))
    assert [instance.uuid for instance in waiting.fetch_instances(session, uuids)] == uuids
    assert [len(call) for call in instances.calls] == [waiting.CHUNK, waiting.CHUNK, 1]
