# SPDX-License-Identifier: Apache-2.0
"""Answer of select_destinations."""

from collections.abc import Sequence
from typing import Self

from oslo_versionedobjects import fields

from rpcapi.objects import base


class Selections(base.GanttObject):
    """Selected, claimed host and alternates of each instance of a request.

    ``chosen`` and ``alternates`` are indices into ``names``. ``epoch`` and ``position``, for later claims on
    alternates, are the replica's at the decision. ``allocations`` is {provider: {class: amount}}; None means the
    request's resources at the host. ``deadline_ms`` is by the partition's own clock, not comparable with any other.
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
        return str(self.names[self.chosen[index]])

    def allocations_of(self, index: int) -> dict[str, dict[str, int]] | None:
        return self.allocations[index] if self.allocations else None

    def alternates_of(self, index: int) -> list[str]:
        return [self.names[number] for number in self.alternates[index]]

    @classmethod
    def build(cls, hosts: Sequence[str], alternates: Sequence[Sequence[str]], **values: object) -> Self:
        """Build from one host and one list of alternates per instance."""
        table: dict[str, int] = {}

        def number(name: str) -> int:
            return table.setdefault(name, len(table))

        host_numbers = [number(host) for host in hosts]
        columns = [[number(name) for name in names] for names in alternates]
        return cls.of(names=list(table), chosen=host_numbers, alternates=columns, **values)
