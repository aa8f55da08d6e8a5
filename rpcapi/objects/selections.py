# SPDX-License-Identifier: Apache-2.0
"""What select_destinations answers."""

from collections.abc import Sequence
from typing import Any

from oslo_versionedobjects import fields

from rpcapi.objects import base, versions


@base.GanttObjectRegistry.register
class Selections(base.GanttObject):
    """For each instance of the request, in its order: the chosen host, claimed, and the next-best hosts.

    ``names`` is a table of resource names; ``chosen`` (one integer an instance) and ``alternates`` (one list of
    integers an instance) point into it, so that 100 instances cost little more than one. ``epoch`` and
    ``position`` say which state of the partition was decided on: a later claim on an alternate passes them on.
    ``allocations`` has {provider: {class: amount}} an instance: what was claimed where it is not simply the request's
    resources at the host itself; it is empty where that is so for all of them.

    Version 1.0: Initial version
    Version 1.1: Add allocations
    """

    VERSION = "1.1"
    COLUMNS = ("chosen", "alternates")
    SPARSE = ("allocations",)

    fields = {
        "partition": fields.StringField(),
        "attempt": fields.IntegerField(),
        "names": base.ColumnField(str),
        "chosen": base.ColumnField(int),
        "alternates": base.ColumnField(list),
        "deadline_ms": fields.IntegerField(),
        "epoch": fields.IntegerField(),
        "position": fields.IntegerField(),
        "allocations": base.ColumnField(dict, nullable_items=True, default=[]),
    }

    def obj_make_compatible(self, primitive: dict[str, Any], target_version: str) -> None:
        super().obj_make_compatible(primitive, target_version)
        versions.drop_later(primitive, target_version, {"allocations": (1, 1)})

    def host(self, index: int) -> str:
        """Return the resource name that instance ``index`` was given."""
        return self.names[self.chosen[index]]

    def allocations_of(self, index: int) -> dict[str, dict[str, int]] | None:
        """Return what instance ``index`` was given of which provider; None: the request's resources at its host."""
        return self.allocations[index] if self.allocations else None

    def alternates_of(self, index: int) -> list[str]:
        """Return the next-best resource names of instance ``index``, best first."""
        return [self.names[number] for number in self.alternates[index]]

    @classmethod
    def build(cls, hosts: Sequence[str], alternates: Sequence[Sequence[str]], **values: object) -> "Selections":
        """Build from names, one host and one list of alternates an instance."""
        table: dict[str, int] = {}

        def number(name: str) -> int:
            return table.setdefault(name, len(table))

        chosen = [number(host) for host in hosts]
        columns = [[number(name) for name in names] for names in alternates]
        return cls.of(names=list(table), chosen=chosen, alternates=columns, **values)
