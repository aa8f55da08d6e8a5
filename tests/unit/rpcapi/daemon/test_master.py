# SPDX-License-Identifier: Apache-2.0
"""Life cycle of a daemon as processes: indices, reload, drain, and workers that die or hang."""

import fcntl
import os
import signal

from tests.unit.rpcapi.daemon.conftest import ToyDaemon, eventually

HANG = "worker_hang_timeout = 3"


def has_exited(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_ready_is_sent_when_every_worker_serves(toy: ToyDaemon, executor: str) -> None:
    toy.begin(workers=3, executor=executor)

    started = toy.events("start")
    assert sorted(index for _, index, _, _ in started) == [0, 1, 2]
    assert len({pid for _, _, pid, _ in started}) == 3
    assert toy.pid not in {pid for _, _, pid, _ in toy.events("made")}, "a service was created before the fork"


def test_ready_is_not_sent_while_workers_wait(toy: ToyDaemon, executor: str) -> None:
    toy.configure(f"executor = {executor}", start="wait", workers=2)
    toy.start()

    eventually(lambda: toy.text().count("the broker is unreachable") >= 4, "lines about the broker")
    assert "READY=1" not in toy.listen()
    assert any(line.startswith("EXTEND_TIMEOUT_USEC=") for line in toy.notifications)
    assert "swordfish" not in toy.text()

    (toy.folder / "broker").touch()
    toy.await_notification("READY=1")
    assert "the broker is reachable" in toy.text()


def test_sighup_reloads_options_in_the_same_workers(toy: ToyDaemon, executor: str) -> None:
    toy.begin(workers=2, executor=executor)
    before = {pid for _, _, pid, _ in toy.events("start")}
    toy.configure(f"executor = {executor}", workers=2, greeting="bonjour")

    toy.signal(signal.SIGHUP)

    toy.await_notification("READY=1", count=2)
    assert {(pid, greeting) for _, _, pid, greeting in toy.events("reset")} == {(pid, "bonjour") for pid in before}
    assert "RELOADING=1" in toy.notifications
    assert any(line.startswith("MONOTONIC_USEC=") for line in toy.notifications)


def test_malformed_file_at_sighup_changes_nothing(toy: ToyDaemon) -> None:
    toy.begin(workers=1)
    toy.conf.write_text("[toy\nthis is no configuration")

    toy.signal(signal.SIGHUP)

    toy.await_notification("READY=1", count=2)
    assert "the configuration is unchanged" in toy.text()
    assert "Reload refused by worker 0" in toy.text()
    assert "Reloaded" not in toy.text()
    toy.signal(signal.SIGTERM)
    assert toy.exit_status() == 0


def test_reload_that_one_worker_refuses_is_reported_by_the_master(toy: ToyDaemon) -> None:
    toy.begin(workers=2)
    toy.configure(workers=2, refusing_index=1)

    toy.signal(signal.SIGHUP)

    toy.await_notification("READY=1", count=2)
    assert "worker 1 refused the reloaded configuration" in toy.text()
    assert "there is no filter 'colour'" in toy.text()
    assert "Reload refused by worker 1;" in toy.text()
    assert "Reloaded" not in toy.text()
    # The next reload succeeds, in the same worker.
    toy.configure(workers=2)
    toy.signal(signal.SIGHUP)
    toy.await_notification("READY=1", count=3)
    assert toy.text().count("Reloaded") == 1


def test_sigterm_drains_requests_in_flight(toy: ToyDaemon, executor: str) -> None:
    toy.begin(workers=2, executor=executor, drain="flight")

    toy.signal(signal.SIGTERM)

    assert toy.exit_status() == 0
    assert len(toy.events("drained")) == 2
    assert "STOPPING=1" in toy.listen()


def test_killed_worker_is_respawned_with_its_index(toy: ToyDaemon, executor: str) -> None:
    toy.begin(workers=3, executor=executor)
    victim = next(pid for _, index, pid, _ in toy.events("start") if index == 1)

    os.kill(victim, signal.SIGKILL)

    started = toy.await_events("start", 4)
    assert started[3][1] == 1
    assert has_exited(victim)
    toy.signal(signal.SIGTERM)
    assert toy.exit_status() == 0


def test_worker_respawned_after_a_reload_has_the_new_options(toy: ToyDaemon) -> None:
    toy.begin()
    toy.configure(greeting="bonjour")
    toy.signal(signal.SIGHUP)
    toy.await_notification("READY=1", count=2)

    os.kill(toy.events("start")[0][2], signal.SIGKILL)

    assert toy.await_events("start", 2)[1][3] == "bonjour"


def test_worker_with_a_blocked_hub_is_respawned(toy: ToyDaemon) -> None:
    with (toy.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        toy.begin(workers=2, executor="eventlet", hang_index=1, default=HANG)

        eventually(lambda: "sent no heartbeat" in toy.text(), "the hang to be detected")
        assert [index for _, index, _, _ in toy.await_events("start", 3)][2] == 1
    assert "in hang" in toy.text(), "the stacks of the hung worker are written"
    assert all(index == 1 for _, index, _, _ in toy.events("start")[2:]), "the other worker kept running"


def test_suspended_worker_is_respawned(toy: ToyDaemon) -> None:
    toy.begin(executor="threading", default=HANG)
    victim = toy.events("start")[0][2]

    os.kill(victim, signal.SIGSTOP)

    toy.await_events("start", 2)
    assert has_exited(victim)


def test_watchdog_is_pinged(toy: ToyDaemon) -> None:
    toy.configure()
    toy.start(WATCHDOG_USEC="900000")

    toy.await_notification("WATCHDOG=1", count=3)


def test_crash_in_the_first_start_ends_the_daemon(toy: ToyDaemon, executor: str) -> None:
    toy.configure(f"executor = {executor}", start="crash", workers=2)
    toy.start()

    assert toy.exit_status() == 70
    assert "the toy is broken" in toy.text()
    assert "READY=1" not in toy.listen()


def test_crash_in_a_later_start_is_retried(toy: ToyDaemon, executor: str) -> None:
    toy.begin(workers=2, executor=executor)
    victim = toy.events("start")[0][2]

    (toy.folder / "broken").touch()
    os.kill(victim, signal.SIGKILL)
    toy.await_events("crash", 2)
    (toy.folder / "broken").unlink()

    assert toy.await_events("start", 3)[2][1] == toy.events("crash")[0][1]
    toy.signal(signal.SIGTERM)
    assert toy.exit_status() == 0
