# SPDX-License-Identifier: Apache-2.0
"""A caller: boots servers and deletes every other one until its input ends; prints one JSON object.

It runs as a program of its own, with the release of gantt that its Python has: ``python callers.py CONF``. The object
has the lists ``kept`` and ``deleted`` of uuids and ``failed`` of what was not answered as asked.
"""

import json
import sys
import threading
import uuid

from tqdm import tqdm

from rpcapi import errors, objects
from rpcapi.cli import waiting
from rpcapi.cli.session import Session

WAIT_SECONDS = 60.0
RESOURCES = {"VCPU": 1, "MEMORY_MB": 64, "DISK_GB": 1}


def boot(session: Session, server: str) -> str | None:
    """Boot one server; return None once it is ACTIVE, else why it is not."""
    session.new_request()
    session.call(
        session.conductor.build_instances, objects.RequestSpec.of(flavor="tiny", resources=RESOURCES), [server]
    )
    records = waiting.wait_for_status(session, [server], ("ACTIVE", "ERROR"), WAIT_SECONDS, tqdm(disable=True))
    record = records.get(server)
    if record is None:
        return f"{server} has no record"
    return None if record.status == "ACTIVE" else f"{server} is {record.status}: {record.reason}"


def delete(session: Session, server: str) -> str | None:
    """Delete one server; return None once its record says so or has gone, else why not."""
    session.new_request()
    session.call(session.conductor.delete_instances, [server])
    records = waiting.wait_for_status(session, [server], ("DELETED",), WAIT_SECONDS, tqdm(disable=True))
    status = records[server].status if server in records else "DELETED"
    return None if status == "DELETED" else f"{server} is {status} {WAIT_SECONDS:.0f} s after its deletion"


def main() -> None:
    """Boot and delete until standard input is closed."""
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    session = Session([sys.argv[1]])
    outcome: dict[str, list[str]] = {"kept": [], "deleted": [], "failed": []}
    while not ended.is_set():
        server = str(uuid.uuid4())
        is_deleted = len(outcome["kept"]) > len(outcome["deleted"])
        outcome["deleted" if is_deleted else "kept"].append(server)
        try:
            failure = boot(session, server) or (delete(session, server) if is_deleted else None)
        except errors.GanttError as error:
            failure = f"{server}: {error.sentence}"
        except Exception as error:
            failure = f"{server}: {error!r}"
        if failure:
            print(failure, file=sys.stderr)
            outcome["failed"].append(failure)
    session.close()
    print(json.dumps(outcome))


if __name__ == "__main__":
    main()
