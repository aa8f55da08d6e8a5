# SPDX-License-Identifier: Apache-2.0
"""OpenStack Placement: its WSGI application, called without a socket."""

import json
import logging
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import webob
from oslo_config import cfg
from peer_wire import serve, timed
from placement import conf as placement_conf
from placement import db_api, deploy
from placement import policy as placement_policy
from placement.db.sqlalchemy import migration, models

VERSION = "placement 1.39"
PROJECT = "lab"
CONFIGURATION = """\
[api]
auth_strategy = noauth2
[placement_database]
connection = {connection}
"""
LIMIT = 1000  # default of Nova's [scheduler] max_placement_results


def deployed(conf_file: Path, *, upgrade: bool = False) -> Any:
    """Return the WSGI application with this configuration; ``upgrade`` first makes the tables of the database."""
    conf = cfg.ConfigOpts()
    placement_conf.register_opts(conf)
    conf([], project="placement", default_config_files=[str(conf_file)], default_config_dirs=[])
    logging.getLogger().setLevel(logging.WARNING)
    db_api.configure(conf)
    if upgrade:
        migration.upgrade("head")
    deploy.update_database(conf)
    placement_policy.init(conf)
    return deploy.deploy(conf)


class PlacementPeer:
    """Placement's application with the hosts in its database."""

    def __init__(self, folder: Path, connection: str | None = None) -> None:
        """``connection`` is the database's URL; by default that of a file of SQLite in ``folder``."""
        conf_file = folder / "placement.conf"
        url = f"sqlite:///{folder}/placement.db" if connection is None else connection
        conf_file.write_text(CONFIGURATION.format(connection=url.replace("%", "%%")))
        self._application = deployed(conf_file, upgrade=True)

    def prepare(self, hosts: Sequence[Mapping[str, Any]], requests: Sequence[Mapping[str, int]]) -> dict[str, Any]:
        """Write the hosts into the database, and return the number of candidates of the first request."""
        self._uuids = [str(uuid.UUID(int=number + 1, version=4)) for number in range(len(hosts))]
        self._requests = requests
        self._claimable = [number for number, host in enumerate(hosts) if host["roomy"]]
        _write(hosts, self._uuids)
        return {"hosts": len(hosts), "candidates": len(self._candidates(0)["allocation_requests"])}

    def candidates(self, first: int, count: int) -> list[float]:
        """Get allocation candidates ``count`` times."""
        return timed(self._candidates, first, count)

    def claim(self, first: int, count: int) -> list[float]:
        """Write an allocation for a new consumer ``count`` times, each on the next host with enough free capacity."""
        return timed(self._claim, first, count)

    def _candidates(self, number: int) -> Any:
        request = self._requests[number % len(self._requests)]
        resources = ",".join(f"{name}:{amount}" for name, amount in request.items())
        return json.loads(self._ask("GET", f"/allocation_candidates?resources={resources}&limit={LIMIT}", 200))

    def _claim(self, number: int) -> None:
        host = self._uuids[self._claimable[number % len(self._claimable)]]
        body = {
            "allocations": {host: {"resources": {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 1}}},
            "project_id": PROJECT,
            "user_id": PROJECT,
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
        }
        self._ask("PUT", f"/allocations/{uuid.uuid4()}", 204, body)

    def _ask(self, method: str, path: str, expected: int, body: Any = None) -> bytes:
        headers = {"X-Auth-Token": "admin", "OpenStack-API-Version": VERSION, "Accept": "application/json"}
        request = webob.Request.blank(path, method=method, headers=headers)
        if body is not None:
            request.content_type = "application/json"
            request.body = json.dumps(body).encode()
        answer = request.get_response(self._application)
        if answer.status_int != expected:
            raise RuntimeError(f"{method} {path.partition('?')[0]} answered {answer.status}: {answer.text[:300]}")
        return answer.body


@db_api.placement_context_manager.writer
def _insert(context: Any, rows: Sequence[Any]) -> None:
    """Write rows; decorated like Placement's own writers."""
    context.session.bulk_save_objects(rows)


@db_api.placement_context_manager.reader
def _classes(context: Any) -> dict[str, int]:
    return {
        resource_class.name: resource_class.id for resource_class in context.session.query(models.ResourceClass).all()
    }


def _write(hosts: Sequence[Mapping[str, Any]], uuids: Sequence[str]) -> None:
    """Write providers, inventories and one consumer per host with all of its allocations.

    Writes rows directly: the API would take a quarter of an hour for 10,000 hosts.
    """
    context = db_api.DbContext()
    classes = _classes(context)
    _insert(context, [models.Project(id=1, external_id=PROJECT), models.User(id=1, external_id=PROJECT)])
    _insert(context, list(_providers(hosts, uuids)))
    _insert(context, [row for number, host in enumerate(hosts) for row in _holdings(number, host, classes)])


def _providers(hosts: Sequence[Mapping[str, Any]], uuids: Sequence[str]) -> Iterator[Any]:
    for number, host in enumerate(hosts, 1):
        yield models.ResourceProvider(
            id=number, uuid=uuids[number - 1], name=host["name"], generation=0, root_provider_id=number
        )


def _holdings(number: int, host: Mapping[str, Any], classes: Mapping[str, int]) -> Iterator[Any]:
    consumer = str(uuid.UUID(int=number + 1, version=5))
    yield models.Consumer(uuid=consumer, project_id=1, user_id=1, generation=1)
    for name, total in host["total"].items():
        yield models.Inventory(
            resource_provider_id=number + 1,
            resource_class_id=classes[name],
            total=total,
            reserved=host["reserved"][name],
            min_unit=1,
            max_unit=total,
            step_size=1,
            allocation_ratio=host["cpu_ratio"] if name == "VCPU" else 1.0,
        )
        if host["used"][name]:
            yield models.Allocation(
                resource_provider_id=number + 1,
                consumer_id=consumer,
                resource_class_id=classes[name],
                used=host["used"][name],
            )


if __name__ == "__main__":
    placement = PlacementPeer(Path(sys.argv[1]))
    serve({"prepare": placement.prepare, "candidates": placement.candidates, "claim": placement.claim})
