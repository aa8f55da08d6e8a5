# SPDX-License-Identifier: Apache-2.0
"""Nova's databases as SQLite files, with Nova's own tables, written with Nova's own objects.

A cloud is {"cells", "services", "computes", "aggregates"}: see tests/differential/wire_clouds.py.
"""

import datetime
import shutil
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nova import context, objects
from nova.conf import CONF
from nova.db import migration
from nova.db.api import api as api_db
from nova.db.api import models as api_models
from nova.db.main import api as main_db
from nova.db.main import models as main_models
from nova_compute import compute_node

API_TABLES = (
    *(api_models.HostMapping, api_models.AggregateHost, api_models.AggregateMetadata, api_models.Aggregate),
    api_models.CellMapping,
)
CELL_TABLES = (main_models.ComputeNode, main_models.Service)
SECONDS_DOWN = 86_400  # of a service that is down, twice as many as since the last report of one that is up


class NovaDatabases:
    """An API database, and the databases of two cells."""

    def __init__(self, folder: Path) -> None:
        """Create them; Nova's configuration must be read."""
        self.paths = [folder / f"cell{number}.sqlite" for number in (1, 2)]
        self.api_url = f"sqlite:///{folder}/api.sqlite"
        CONF.set_override("connection", self.api_url, group="api_database")
        CONF.set_override("connection", f"sqlite:///{self.paths[0]}", group="database")
        api_db.configure(CONF)
        main_db.configure(CONF)
        migration.db_sync(database="api")
        migration.db_sync(database="main")
        shutil.copyfile(self.paths[0], self.paths[1])

    def write(self, cloud: Mapping[str, Any]) -> None:
        """Replace what is in them by a cloud."""
        self._empty()
        mappings = [self._create_cell(number, cell) for number, cell in enumerate(cloud["cells"])]
        ctxt = context.get_admin_context()
        for service in cloud["services"]:
            mapping = mappings[service["cell"]]
            if service["mapped"]:
                objects.HostMapping(ctxt, host=service["host"], cell_mapping=mapping).create()
            with context.target_cell(ctxt, mapping) as cell_context:
                _create_service(cell_context, service)
                for compute in cloud["computes"]:
                    if compute["host"] == service["host"]:
                        _compute(cell_context, compute).create()
        for fields in cloud["aggregates"]:
            _create_aggregate(ctxt, fields)

    def _create_cell(self, number: int, cell: Mapping[str, Any]) -> Any:
        ctxt = context.get_admin_context()
        mapping = objects.CellMapping(
            ctxt,
            uuid=cell["uuid"],
            name=cell["name"],
            disabled=cell["disabled"],
            transport_url="fake:///",
            database_connection=f"sqlite:///{self.paths[number]}",
        )
        mapping.create()
        return mapping

    def _empty(self) -> None:
        ctxt = context.get_admin_context()
        with api_db.context_manager.writer.using(ctxt) as session:
            for table in API_TABLES:
                session.query(table).delete()
        for path in self.paths:
            mapping = objects.CellMapping(
                ctxt,
                uuid=str(uuid.uuid4()),
                name="cell",
                transport_url="fake:///",
                database_connection=f"sqlite:///{path}",
            )
            with (
                context.target_cell(ctxt, mapping) as cell_context,
                main_db.get_context_manager(cell_context).writer.using(cell_context) as session,
            ):
                for table in CELL_TABLES:
                    session.query(table).delete()


def _create_service(ctxt: Any, fields: Mapping[str, Any]) -> None:
    now = datetime.datetime.now(datetime.UTC)
    service = objects.Service(
        ctxt,
        host=fields["host"],
        binary="nova-compute",
        topic="compute",
        disabled=fields["disabled"],
        disabled_reason="test" if fields["disabled"] else None,
        forced_down=fields["forced_down"],
        last_seen_up=now if fields["up"] else now - datetime.timedelta(seconds=2 * SECONDS_DOWN),
    )
    service.create()


def _compute(ctxt: Any, fields: Mapping[str, Any]) -> Any:
    return compute_node(
        context=ctxt,
        uuid=fields["uuid"],
        host=fields["host"],
        hypervisor_hostname=fields["node"],
        host_ip=fields["host_ip"],
        stats=fields["stats"],
        cpu_allocation_ratio=fields["cpu_ratio"],
        pci_device_pools=objects.PciDevicePoolList(
            objects=[objects.PciDevicePool(**pool) for pool in fields["pci_pools"]]
        ),
        **{name: fields[name] for name in ("total", "used", "facts", "metrics")},
    )


def _create_aggregate(ctxt: Any, fields: Mapping[str, Any]) -> None:
    aggregate = objects.Aggregate(ctxt, name=fields["name"], uuid=fields["uuid"], metadata=fields["metadata"])
    aggregate.create()
    add_hosts(aggregate, fields["hosts"])


def add_hosts(aggregate: Any, hosts: Sequence[str]) -> None:
    """Add service hosts to an aggregate's record, without a call to a compute or to Placement."""
    with api_db.context_manager.writer.using(aggregate._context) as session:
        for host in hosts:
            row = api_models.AggregateHost(aggregate_id=aggregate.id, host=host)
            session.add(row)
