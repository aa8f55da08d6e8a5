# SPDX-License-Identifier: Apache-2.0
"""Writer of computes into Nova's databases: service, compute node and host mapping of each.

The first compute is written with Nova's objects; the others are copies of its rows with different names and uuids. With
objects, 10,000 computes would take 30,000 transactions.
"""

import os
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

os.environ["OS_NOVA_DISABLE_EVENTLET_PATCHING"] = "1"

import sqlalchemy
from nova import config, context, objects
from nova.conf import CONF
from nova.db.api import models as api_models
from nova.db.main import models
from nova_compute import compute_node
from oslo_utils import timeutils
from peer_wire import serve

ROWS = 1_000  # rows per statement
FACTS = {
    "hypervisor_type": "QEMU",
    "hypervisor_version": 8_002_002,
    "cpu_info": {"arch": "x86_64", "model": "Skylake-Server", "features": ["avx", "avx2", "sse4.2"]},
    "supported_instances": [("x86_64", "qemu", "hvm")],
}


class NovaRecords:
    """Databases of a nova.conf with one cell besides cell0."""

    def open(self, conf: str) -> None:
        config.parse_args(["lab", "--config-file", conf])
        objects.register_all()

    def add(self, computes: Sequence[tuple[str, str]], total: Mapping[str, int]) -> None:
        """Write computes, given as (name, uuid of the node), with capacity ``total`` each."""
        template, uuid_text = computes[0]
        _write_objects(template, uuid_text, total)
        rest = computes[1:]
        _copy(CONF.database.connection, models.Service, template, [_service(name) for name, _ in rest])
        _copy(CONF.database.connection, models.ComputeNode, template, [_node(*compute) for compute in rest])
        _copy(CONF.api_database.connection, api_models.HostMapping, template, [{"host": name} for name, _ in rest])


def _write_objects(name: str, uuid_text: str, total: Mapping[str, int]) -> None:
    ctxt = context.get_admin_context()
    (cell,) = [cell for cell in objects.CellMappingList.get_all(ctxt) if not cell.is_cell0()]
    with context.target_cell(ctxt, cell) as cell_ctxt:
        service = objects.Service(cell_ctxt, host=name, binary="nova-compute", topic="compute", report_count=1)
        service.last_seen_up = timeutils.utcnow()
        service.create()
        compute = compute_node(
            total=total,
            used=dict.fromkeys(total, 0),
            facts=FACTS,
            context=cell_ctxt,
            host=name,
            hypervisor_hostname=name,
            uuid=uuid_text,
            service_id=None,
            disk_available_least=total["DISK_GB"],
            current_workload=0,
            running_vms=0,
            stats={"failed_builds": "0"},
            host_ip="192.0.2.1",
            pci_device_pools=objects.PciDevicePoolList(objects=[]),
        )
        compute.create()
    objects.HostMapping(ctxt, host=name, cell_mapping=cell).create()


def _service(name: str) -> Mapping[str, str]:
    return {"host": name, "uuid": str(uuid.uuid4())}


def _node(name: str, uuid_text: str) -> Mapping[str, str]:
    return {"host": name, "hypervisor_hostname": name, "uuid": uuid_text}


def _copy(connection_url: str, model: Any, host: str, changes: Sequence[Mapping[str, str]]) -> None:
    """Insert one copy of a host's row per element of ``changes``, with these columns changed."""
    table = model.__table__
    engine = sqlalchemy.create_engine(connection_url)
    try:
        with engine.begin() as connection:
            row = dict(connection.execute(sqlalchemy.select(table).where(table.c.host == host)).mappings().one())
            del row["id"]
            for first in range(0, len(changes), ROWS):
                connection.execute(table.insert(), [{**row, **change} for change in changes[first : first + ROWS]])
    finally:
        engine.dispose()


if __name__ == "__main__":
    records = NovaRecords()
    serve({"open": records.open, "add": records.add})
