# SPDX-License-Identifier: Apache-2.0
"""Moves of a host's servers, with an injected clock."""

import itertools
from types import SimpleNamespace

import pytest

from rpcapi.admin import host_moves
from rpcapi.admin.host_moves import HostMoves


class Clock:
    def __init__(self):
        self.now = 100.0

    def sleep(self, seconds):
        self.now += seconds


class Session:
    """Migrations that are completed so many seconds after they were requested."""

    def __init__(self, clock, seconds):
        self.conductor = self
        self.clock = clock
        self.seconds = seconds
        self.begins = {}

    def start(self, servers, migrations):
        self.begins |= dict.fromkeys(migrations, self.clock.now)

    def call(self, method, uuids):
        return SimpleNamespace(migrations=[method(uuid) for uuid in uuids])

    def get_migrations(self, uuid):
        is_over = self.clock.now >= self.begins[uuid] + self.seconds
        return SimpleNamespace(uuid=uuid, status="completed" if is_over else "migrating", kind="live-migration")


@pytest.mark.parametrize("seconds", [0.05, 2.4, 7.9, 100.0])
def test_next_server_waits_half_a_second_at_most_for_the_turn_of_the_one_before(monkeypatch, seconds):
    clock = Clock()
    monkeypatch.setattr(host_moves, "time", SimpleNamespace(monotonic=lambda: clock.now, sleep=clock.sleep))
    session = Session(clock, seconds)
    moves = HostMoves(session, max_open=1, timeout=300)
    servers = [[SimpleNamespace(uuid=str(number))] for number in range(10)]
    moves.run(servers, [], session.start, SimpleNamespace(update=lambda count: None))
    assert moves.moved == 10
    begins = list(session.begins.values())
    assert all(later - earlier <= seconds + 0.501 for earlier, later in itertools.pairwise(begins))
