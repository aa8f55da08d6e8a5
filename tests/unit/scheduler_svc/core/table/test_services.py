# SPDX-License-Identifier: Apache-2.0
"""The state of service hosts in the columns of their rows."""

import numpy as np
import pytest

from rpcapi.resources import transient
from scheduler_svc.core.table.services import ServiceColumns, ServiceStates, ServiceView

EPOCH = 7


class Services:
    """The service hosts of one partition: "a" with rows 0 and 1, "b" with row 2."""

    def __init__(self, epoch=EPOCH):
        self.columns = ServiceColumns(4)
        self.now = 1000.0
        self.states = ServiceStates(self.columns, lambda: self.now)
        self.states.set_epoch(epoch)
        for row, host in enumerate("aab"):
            self.states.add_row(row, host)

    def column(self, name):
        return getattr(ServiceView(self.columns, [self.states], 3), name).tolist()


def test_unknown_host_is_down_enabled_and_not_audited():
    services = Services()
    assert [services.column(name) for name in ("alive", "enabled", "opened", "audit_pending")] == [
        [False] * 3,
        [True] * 3,
        [False] * 3,
        [False] * 3,
    ]


def test_change_of_a_service_host_applies_to_all_its_rows():
    services = Services()
    services.states.set_alive("a", True, 1)
    services.states.set_enabled("b", False, 1)
    services.states.set_opened("a", EPOCH, 1)
    assert services.column("alive") == services.column("opened") == [True, True, False]
    assert services.column("enabled") == [True, True, False]
    assert services.states.rows_of("a") == [0, 1]
    assert services.states.rows_of("c") == []


def test_new_row_has_the_state_of_its_service_host():
    services = Services()
    services.states.set_alive("c", True, 1)
    services.states.set_enabled("c", False, 1)
    services.states.add_row(3, "c")
    columns = services.columns
    assert (columns.alive[3], columns.enabled[3], columns.opened[3], columns.audit_pending[3]) == (1, 0, 0, 1)


@pytest.mark.parametrize("name", ["alive", "enabled", "opened"])
def test_older_value_is_ignored_and_the_same_position_applies_again(name):
    services = Services()
    values = {"alive": (True, False), "enabled": (False, True), "opened": (EPOCH, 0)}[name]
    change = getattr(services.states, f"set_{name}")
    change("b", values[0], 5)
    before = services.column(name)
    change("b", values[1], 4)
    assert services.column(name) == before
    change("b", values[1], 5)
    assert services.column(name) != before


def test_each_value_has_a_position_of_its_own():
    services = Services()
    services.states.set_alive("a", True, 9)
    services.states.set_enabled("a", False, 3)
    assert services.column("enabled") == [False, False, True]


def test_deleted_host_is_as_an_unknown_one_except_for_later_values():
    services = Services()
    services.states.set_alive("a", True, 1)
    services.states.set_opened("a", EPOCH, 1)
    services.states.set_enabled("a", False, 6)
    services.states.set_enabled("b", False, 1)
    for host in "ab":
        services.states.set_deleted(host, 5)
    assert services.column("alive") == services.column("opened") == [False] * 3
    assert services.column("enabled") == [False, False, True]


def test_new_epoch_closes_the_hosts_that_were_audited_before():
    services = Services()
    services.states.set_opened("a", EPOCH, 1)
    services.states.set_opened("b", EPOCH + 1, 1)
    services.states.set_epoch(EPOCH + 1)
    assert services.column("opened") == [False, False, True]


def test_audit_of_a_live_host_is_pending_until_it_is_done():
    services = Services()
    services.states.set_alive("a", True, 1)
    assert services.column("audit_pending") == [True, True, False]
    services.states.set_opened("a", EPOCH, 2)
    assert services.column("audit_pending") == [False] * 3
    services.states.set_epoch(EPOCH + 1)
    assert services.column("audit_pending") == [True, True, False]
    services.states.set_alive("a", False, 3)
    assert services.column("audit_pending") == [False] * 3


def test_audit_is_overdue_after_its_time_and_no_longer_expected_soon():
    services = Services()
    services.states.set_alive("a", True, 1)
    services.now += transient.SECONDS - 1
    services.states.expire_waits()
    assert (services.states.overdue, services.column("audit_pending")) == (set(), [True, True, False])
    services.now += 1
    services.states.expire_waits()
    assert (services.states.overdue, services.column("audit_pending")) == ({"a"}, [False] * 3)
    assert ServiceView(services.columns, [services.states], 3).audits_overdue
    services.states.set_alive("a", True, 2)
    assert services.column("audit_pending") == [False] * 3, "a heartbeat does not begin another wait"
    services.states.set_opened("a", EPOCH, 3)
    assert not ServiceView(services.columns, [services.states], 3).audits_overdue


def test_clock_is_not_read_while_nothing_is_transient():
    def clock():
        raise AssertionError("read")

    services = Services()
    services.states._clock = clock
    services.states.expire_waits()


def test_host_is_just_down_for_a_minute_after_its_last_report():
    services = Services()
    services.states.set_alive("a", True, 1)
    assert services.column("just_down") == [False] * 3
    services.states.set_alive("a", False, 2)
    services.now += transient.SECONDS - 1
    services.states.expire_waits()
    services.states.set_alive("a", False, 3)
    services.states.add_row(3, "a")
    assert [*services.column("just_down"), services.columns.just_down[3]] == [True, True, False, True]
    services.now += 1
    services.states.expire_waits()
    services.states.set_alive("a", False, 4)
    assert services.column("just_down") == [False] * 3
    services.states.set_alive("a", True, 5)
    services.states.set_alive("a", False, 6)
    assert services.column("just_down") == [True, True, False]
    services.states.set_deleted("a", 7)
    assert services.column("just_down") == [False] * 3


def test_reloaded_hosts_are_just_down_only_if_they_were_alive_or_unknown():
    services, source = Services(), Services()
    for host, alive in [("a", False), ("b", True)]:
        services.states.set_alive(host, alive, 1)
    services.now += transient.SECONDS
    services.states.expire_waits()
    for host in "abc":
        source.states.set_alive(host, False, 2)
    source.states.add_row(3, "c")
    services.columns.copy_from(np.arange(4), source.columns)
    services.states.copy_from([0, 1, 2, 3], source.states)
    assert services.columns.just_down.tolist() == [False, False, True, True]
    services.now += transient.SECONDS
    services.states.expire_waits()
    assert services.columns.just_down.tolist() == [False] * 4


@pytest.mark.parametrize(("epoch", "overdue"), [(EPOCH, {"a"}), (EPOCH + 1, set())])
def test_reloaded_hosts_keep_their_waits_within_the_epoch(epoch, overdue):
    services, source = Services(), Services(epoch)
    services.states.set_alive("a", True, 1)
    services.now += transient.SECONDS
    services.states.expire_waits()
    source.states.set_alive("a", True, 1)
    services.columns.copy_from(np.array([2, 1, 0]), source.columns)
    services.states.copy_from([2, 1, 0], source.states)
    assert services.states.overdue == overdue
    assert services.states.rows_of("a") == [2, 1]
    assert services.column("alive") == [False, True, True]
    assert services.column("audit_pending") == [False, not overdue, not overdue]


def test_new_and_cleared_rows_are_false_in_every_column():
    services = Services()
    services.states.set_alive("a", True, 1)
    services.columns.grow(6)
    services.columns.clear(np.array([0]))
    assert services.columns.alive.tolist() == [False, True, False, False, False, False]
    assert not services.columns.enabled[3:].any()


def test_service_host_of_the_placement_api_is_always_alive_and_open():
    services = Services()
    services.states.add_row(3, "@api")
    for epoch in (EPOCH, EPOCH + 1):
        services.states.set_epoch(epoch)
        columns = services.columns
        assert (columns.alive[3], columns.enabled[3], columns.opened[3], columns.audit_pending[3]) == (1, 1, 1, 0)
    services.states.set_opened("a", EPOCH, 1)
    assert services.states.audited_hosts() == ["a"]
