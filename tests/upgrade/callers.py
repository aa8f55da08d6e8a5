# SPDX-License-Identifier: Apache-2.0
"""A caller: boots servers, changes them, and deletes every other one until its input ends; prints one JSON object.

It runs as a program of its own, with the release of gantt that its Python has: ``python callers.py CONF``. The object
has the lists ``kept`` and ``deleted`` of uuids, ``failed`` of what was not answered as asked, and ``done``, which
counts each kind of change.
"""

import collections
import json
import sys
import threading
import uuid
from typing import NamedTuple

from tqdm import tqdm

from rpcapi import errors, objects
from rpcapi.admin import waiting
from rpcapi.admin.session import Session

WAIT_SECONDS = 240.0  # a hang: how long a boot takes depends on the machine
RESOURCES = {"VCPU": 1, "MEMORY_MB": 64, "DISK_GB": 1}


class Change(NamedTuple):
    """A change of a server: the conductor's method, and the status in which it ends.

    It begins where the one before it ends, the first with an ACTIVE server, and so must the last end. A move ends with
    its migration in status ``moved``; ``ends_move``: it ends the migration of the change before it.
    """

    method: str
    end: str
    moved: str = ""
    ends_move: bool = False

    def send(self, session: Session, server: str, migration: str) -> None:
        """Send the request; ``migration`` is the uuid of its migration, if it has one."""
        method = getattr(session.conductor, self.method)
        if self.ends_move:
            session.call(method, [migration])
        elif self.moved:
            session.call(method, [server], [migration])
        else:
            session.call(method, [server])


CHANGES = (
    Change("stop_instances", "SHUTOFF"),
    Change("start_instances", "ACTIVE"),
    Change("reboot_instances", "ACTIVE"),
    Change("rebuild_instances", "ACTIVE"),
    Change("shelve_instances", "SHELVED_OFFLOADED"),  # [conductor] shelved_offload_time is 0
    Change("unshelve_instances", "ACTIVE"),
    Change("migrate_instances", "VERIFY_RESIZE", "finished"),
    Change("confirm_migrations", "ACTIVE", "confirmed", ends_move=True),
    Change("live_migrate_instances", "ACTIVE", "completed"),
)


def boot(session: Session, server: str) -> str | None:
    """Boot one server; return None once it is ACTIVE, else why it is not."""
    session.new_request()
    session.call(
        session.conductor.build_instances, objects.RequestSpec.of(flavor="tiny", resources=RESOURCES), [server]
    )
    return wait_for(session, server, "ACTIVE", "its boot")


def change(session: Session, server: str, request: Change, migration: str) -> str | None:
    """Request a change of one server; return None once it is in its end status, else why it is not."""
    session.new_request()
    request.send(session, server, migration)
    failure = wait_for(session, server, request.end, request.method)
    return failure or (check_migration(session, migration, request) if request.moved else None)


def check_migration(session: Session, migration: str, request: Change) -> str | None:
    """Return None if the migration is in the status in which the change leaves it, else what it is instead."""
    (record,) = session.call(session.conductor.get_migrations, [migration]).migrations
    if record.status == request.moved:
        return None
    return f"migration {migration} of {record.instance} is {record.status} after {request.method}: {record.reason}"


def delete(session: Session, server: str) -> str | None:
    """Delete one server; return None once its record says so or has gone, else why not."""
    session.new_request()
    session.call(session.conductor.delete_instances, [server])
    records = waiting.wait_for_status(session, [server], ("DELETED",), WAIT_SECONDS, tqdm(disable=True))
    status = records[server].status if server in records else "DELETED"
    return None if status == "DELETED" else f"{server} is {status} {WAIT_SECONDS:.0f} s after its deletion"


def wait_for(session: Session, server: str, status: str, what: str) -> str | None:
    """Return None once the server has the status, else what it has instead."""
    records = waiting.wait_for_status(session, [server], (status, "ERROR"), WAIT_SECONDS, tqdm(disable=True))
    record = records.get(server)
    if record is None:
        return f"{server} has no record after {what}"
    return None if record.status == status else f"{server} is {record.status} after {what}: {record.reason}"


def live(session: Session, server: str, is_deleted: bool, done: collections.Counter[str]) -> str | None:
    """Boot a server, change it in all ways, and delete it if ``is_deleted``; return the first failure, or None."""
    failure, migration = boot(session, server), ""
    for item in () if failure else CHANGES:
        if item.moved and not item.ends_move:
            migration = str(uuid.uuid4())
        failure = change(session, server, item, migration)
        if failure:
            return failure
        done[item.method] += 1
    return failure or (delete(session, server) if is_deleted else None)


def main() -> None:
    """Let servers live until standard input is closed."""
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    session = Session([sys.argv[1]])
    outcome: dict[str, list[str]] = {"kept": [], "deleted": [], "failed": []}
    done: collections.Counter[str] = collections.Counter()
    while not ended.is_set():
        server = str(uuid.uuid4())
        is_deleted = len(outcome["kept"]) > len(outcome["deleted"])
        outcome["deleted" if is_deleted else "kept"].append(server)
        try:
            failure = live(session, server, is_deleted, done)
        except errors.GanttError as error:
            failure = f"{server}: {error.sentence}"
        except Exception as error:
            failure = f"{server}: {error!r}"
        if failure:
            print(failure, file=sys.stderr)
            outcome["failed"].append(failure)
    session.close()
    print(json.dumps(outcome | {"done": done}))


if __name__ == "__main__":
    main()
