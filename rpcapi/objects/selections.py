# SPDX-License-Identifier: Apache-2.0
"""Answer of select_destinations."""

from collections.abc import Sequence
from typing import Self

from oslo_versionedobjects import fields

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class Selections(base.GanttObject):
    """For each instance of the request, in order: the selected, claimed host and its alternates.

    ``names`` is a table of resource names; ``chosen`` (one index per instance) and ``alternates`` (one list of indices
    per instance) refer to it, so that 100 instances cost little more than one. ``epoch`` and ``position`` identify the
    partition state of the decision; a later claim on an alternate passes them on. ``allocations`` has {provider:
    {class: amount}} of each claim, or None for the request's resources at the host itself; it is empty when all
    elements would be None. ``deadline_ms`` is in the partition's own time, with which no other clock may be compared.

    Version 1.0: Initial version
    """

    fields = {
        "partition": fields.StringField(),
        "attempt": fields.IntegerField(),
        "names": base.ListField(str),
        "chosen": base.ColumnField(int),
        "alternates": base.ColumnField(list),
        "deadline_ms": fields.IntegerField(),
        "epoch": fields.IntegerField(),
        "position": fields.IntegerField(),
        "allocations": base.ColumnField(dict, nullable_items=True, default=[]),
    }

    def host(self, index: int) -> str:
        """Return the selected resource name of instance ``index``."""
        return str(self.names[self.chosen[index]])

    def allocations_of(self, index: int) -> dict[str, dict[str, int]] | None:
        """Return the allocation of instance ``index``; None: the request's resources at its host."""
        return self.allocations[index] if self.allocations else None

    def alternates_of(self, index: int) -> list[str]:
        """Return the alternates of instance ``index``, best first."""
        return [self.names[number] for number in self.alternates[index]]

    @classmethod
    def build(cls, hosts: Sequence[str], alternates: Sequence[Sequence[str]], **values: object) -> Self:
        """Build from resource names: one host and one list of alternates per instance."""
        table: dict[str, int] = {}

        def number(name: str) -> int:
            return table.setdefault(name, len(table))

        host_numbers = [number(host) for host in hosts]
        columns = [[number(name) for name in names] for names in alternates]
        return cls.of(names=list(table), chosen=host_numbers, alternates=columns, **values)
