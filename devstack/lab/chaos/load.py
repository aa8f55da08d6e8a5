# SPDX-License-Identifier: Apache-2.0
"""Callers that boot, change, delete and list servers, and record calls and answers in the history."""

import random
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import oslo_messaging as messaging

from devstack.lab.chaos.changes import CHANGES, SHELVED, VERIFY
from devstack.lab.chaos.history import CallOutcome, HistoryWriter
from rpcapi import errors, objects
from rpcapi.admin.session import Session

CALL_SECONDS = 5.0
GIVE_UP_SECONDS = 90.0  # longest repetition of a call: longer than any fault
PAUSE = 0.2
NO_ANSWER = (messaging.MessagingException, errors.Unavailable, errors.DeadlinePassed, OSError)
PERCENT_OF_GROUPS, GROUPS, GROUP_MEMBERS = 30, 6, 4
FOLLOW_SECONDS = 6.0
FOLLOW_POLL = 1.0
BOOT_SIZES = (1, 2, 4, 50, 50, 50)
DELETE_SIZES = (1, 2, 50, 50, 50)
CHANGE_SIZES = (1, 2, 4, 20)
REQUESTS = tuple(verb for verb in CHANGES if verb != "evacuate")  # Only operators evacuate, and only from lost hosts.
PERCENT_OF_CHANGES, CHANGES_IN_A_ROW = 50, (1, 2, 4)
SHARE_WATCHED = 0.5  # live migrations that a caller does not follow, so that its next change may abort them
FINAL_STATUSES = frozenset({"ACTIVE", "SHUTOFF", *SHELVED, *VERIFY, "ERROR", "DELETED"})


class Population:
    """Acknowledged instances that no caller has begun to delete, and their last requested moves."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._uuids: list[str] = []
        self.acknowledged = 0
        self.migrations: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._uuids)

    def add(self, uuids: Sequence[str]) -> None:
        with self._lock:
            self._uuids += uuids
            self.acknowledged += len(uuids)

    def put_back(self, uuids: Sequence[str]) -> None:
        with self._lock:
            self._uuids += uuids

    def take(self, chance: random.Random, count: int) -> list[str]:
        with self._lock:
            chance.shuffle(self._uuids)
            batch, self._uuids = self._uuids[:count], self._uuids[count:]
            return batch


class HistoryCaller:
    """Caller with its own connection that repeats unanswered calls and returns whether they were acknowledged."""

    def __init__(self, client_conf: Path, history: HistoryWriter) -> None:
        self.session = Session([str(client_conf)])
        self._history = history

    def boot(
        self,
        resources: dict[str, int],
        uuids: Sequence[str],
        give_up: Callable[[], bool],
        group: objects.ServerGroup | None = None,
    ) -> bool:
        spec = objects.RequestSpec.of(resources=resources, group_id=group and group.id)
        began = time.time()

        def send(ctxt: Any) -> None:
            if group is not None:
                self.session.scheduler.create_server_group(ctxt, group)
            self._conductor.build_instances(ctxt, spec, uuids, first_sent=began)

        return self._repeat("boot", uuids, give_up, send)

    def delete(self, uuids: Sequence[str], give_up: Callable[[], bool]) -> bool:
        return self._repeat("delete", uuids, give_up, lambda ctxt: self._conductor.delete_instances(ctxt, uuids))

    def change(
        self,
        verb: str,
        uuids: Sequence[str],
        give_up: Callable[[], bool],
        migrations: Mapping[str, str] | None = None,
        **values: Any,
    ) -> bool:
        change, named = CHANGES[verb], [(migrations or {})[uuid] for uuid in uuids if migrations]
        arguments = [named] if change.ends_move else [list(uuids), named] if change.moves else [list(uuids)]

        def send(ctxt: Any) -> None:
            getattr(self._conductor, change.method)(ctxt, *arguments, **values)

        return self._repeat(verb, uuids, give_up, send, migrations)

    def statuses(self, uuids: Sequence[str]) -> dict[str, str]:
        """Return the instances' statuses; empty without an answer."""
        operation = self._history.call("list", uuids)
        try:
            page = self._conductor.get_instances(self.session.ctxt.with_timeout(CALL_SECONDS), list(uuids))
        except NO_ANSWER:
            return {}
        except errors.GanttError as error:
            self._history.answer(operation, CallOutcome.REFUSED, str(error))
            return {}
        statuses = {instance.uuid: instance.status for instance in page.instances}
        self._history.answer(operation, CallOutcome.ACKNOWLEDGED, statuses=statuses)
        return statuses

    def close(self) -> None:
        self.session.close()

    @property
    def _conductor(self) -> Any:
        return self.session.conductor

    def _repeat(
        self,
        verb: str,
        uuids: Sequence[str],
        give_up: Callable[[], bool],
        send: Callable[[Any], Any],
        migrations: Mapping[str, str] | None = None,
    ) -> bool:
        self.session.new_request()
        operation = self._history.call(verb, uuids, migrations)
        deadline = time.monotonic() + GIVE_UP_SECONDS
        while True:
            try:
                send(self.session.ctxt.with_timeout(CALL_SECONDS))
            except NO_ANSWER:
                if time.monotonic() > deadline or give_up():
                    return False
                time.sleep(PAUSE)
            except errors.GanttError as error:
                self._history.answer(operation, CallOutcome.REFUSED, f"{type(error).__name__}: {error}")
                return False
            else:
                self._history.answer(operation, CallOutcome.ACKNOWLEDGED)
                return True


class ChaosLoad:
    """Caller threads that keep about ``target`` instances alive and replace them continuously."""

    def __init__(
        self, client_conf: Path, history: HistoryWriter, seed: str, callers: int = 5, target: int = 300
    ) -> None:
        self._client_conf = client_conf
        self._history = history
        self._seed = seed
        self._target = target
        self.population = Population()
        self._is_running = threading.Event()
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(number,), daemon=True) for number in range(callers)]

    def start(self) -> None:
        self._is_running.set()
        for thread in self._threads:
            thread.start()

    def pause(self) -> None:
        self._is_running.clear()

    def resume(self) -> None:
        self._is_running.set()

    def stop(self) -> None:
        self._stopped.set()
        self._is_running.set()
        for thread in self._threads:
            thread.join(GIVE_UP_SECONDS)

    def _run(self, number: int) -> None:
        chance = random.Random(f"{self._seed}/{number}")
        with closing(HistoryCaller(self._client_conf, self._history)) as caller:
            while not self._stopped.is_set():
                self._is_running.wait()
                try:
                    self._act(caller, chance)
                except NO_ANSWER:
                    time.sleep(PAUSE)

    def _act(self, caller: HistoryCaller, chance: random.Random) -> None:
        if len(self.population) > self._target * chance.uniform(0.5, 1.5):
            caller.delete(self.population.take(chance, chance.choice(DELETE_SIZES)), self._stopped.is_set)
            return
        if len(self.population) > 0 and chance.randrange(100) < PERCENT_OF_CHANGES:
            self._change(caller, chance)
            return
        count = chance.choice(BOOT_SIZES)
        vcpus = chance.choice((1, 1, 2, 4)) if count <= GROUP_MEMBERS else 1
        uuids = [make_uuid(chance) for _ in range(count)]
        resources = {"VCPU": vcpus, "MEMORY_MB": 1024 * vcpus, "DISK_GB": 1}
        group = self._group(caller.session.project, chance) if count <= GROUP_MEMBERS else None
        if caller.boot(resources, uuids, self._stopped.is_set, group):
            self.population.add(uuids)
            self._follow(caller, uuids)

    def _change(self, caller: HistoryCaller, chance: random.Random) -> None:
        """Request changes of instances that no other caller uses, and follow each; skip instances in a wrong status."""
        uuids = self.population.take(chance, chance.choice(CHANGE_SIZES))
        try:
            for _ in range(chance.choice(CHANGES_IN_A_ROW)):
                statuses = caller.statuses(uuids)
                possible = [verb for verb in REQUESTS if CHANGES[verb].begins & set(statuses.values())]
                if not possible:
                    return
                verb = chance.choice(possible)
                changed = [uuid for uuid in uuids if statuses.get(uuid) in CHANGES[verb].begins]
                if not self._request(caller, chance, verb, changed):
                    return
                if not (verb == "live-migrate" and chance.random() < SHARE_WATCHED):
                    self._follow(caller, changed)
        finally:
            self.population.put_back(uuids)

    def _request(self, caller: HistoryCaller, chance: random.Random, verb: str, uuids: Sequence[str]) -> bool:
        last_moves, change = self.population.migrations, CHANGES[verb]
        if change.ends_move:
            uuids = [uuid for uuid in uuids if uuid in last_moves]
            migrations = {uuid: last_moves[uuid] for uuid in uuids}
            return bool(uuids) and caller.change(verb, uuids, self._stopped.is_set, migrations)
        if not change.moves:
            return caller.change(verb, uuids, self._stopped.is_set)
        migrations = {uuid: make_uuid(chance) for uuid in uuids}
        before = {uuid: last_moves[uuid] for uuid in uuids if uuid in last_moves}
        last_moves.update(migrations)
        values = {"spec": _make_flavor(chance)} if verb == "resize" else {}
        is_accepted = caller.change(verb, uuids, self._stopped.is_set, migrations, **values)
        if not is_accepted and not self._stopped.is_set():
            last_moves.update(before)  # refused; an unanswered move may have happened
        return is_accepted

    def _group(self, project: str, chance: random.Random) -> objects.ServerGroup | None:
        if chance.randrange(100) >= PERCENT_OF_GROUPS:
            return None
        number = chance.randrange(GROUPS)
        policy, limit = (("affinity", 1), ("anti-affinity", 2))[number % 2]
        group_id = make_uuid(random.Random(f"{self._seed}/group {number}"))
        return objects.ServerGroup.of(id=group_id, project=project, policy=policy, max_per_host=limit)

    def _follow(self, caller: HistoryCaller, uuids: Sequence[str]) -> None:
        """List the instances until they are at rest, at most FOLLOW_SECONDS, so that agents can keep up."""
        deadline = time.monotonic() + FOLLOW_SECONDS
        while time.monotonic() < deadline and not self._stopped.wait(FOLLOW_POLL):
            statuses = caller.statuses(uuids)
            if statuses and all(status in FINAL_STATUSES for status in statuses.values()):
                return


def make_uuid(chance: random.Random) -> str:
    return str(uuid.UUID(int=chance.getrandbits(128), version=4))


def _make_flavor(chance: random.Random) -> objects.RequestSpec:
    vcpus = chance.choice((1, 2, 4))
    return objects.RequestSpec.of(
        resources={"VCPU": vcpus, "MEMORY_MB": 1024 * vcpus, "DISK_GB": 1}, flavor=f"resized-{vcpus}"
    )
