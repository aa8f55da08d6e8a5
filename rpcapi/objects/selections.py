# SPDX-License-Identifier: Apache-2.0
"""What select_destinations answers."""

from collections.abc import Sequence

from oslo_versionedobjects import fields

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class Selections(base.GanttObject):
    """For each instance of the request, in its order: the chosen host, claimed, and the next-best hosts.

    ``names`` is a table of resource names; ``chosen`` (one integer an instance) and ``alternates`` (one list of
    integers an instance) point into it, so that 100 instances cost little more than one. ``epoch`` and
    ``position`` say which state of the partition was decided on: a later claim on an alternate passes them on.

    Version 1.0: Initial version
    """

    VERSION = "1.0"
    COLUMNS = ("chosen", "alternates")

    fields = {
        "partition": fields.StringField(),
        "attempt": fields.IntegerField(),
        "names": base.ColumnField(str),
        "chosen": base.ColumnField(int),
        "alternates": base.ColumnField(list),
        "deadline_ms": fields.IntegerField(),
        "epoch": fields.IntegerField(),
        "position": fields.IntegerField(),
    }

    def host(self, index: int) -> str:
        """Return the resource name that instance ``index`` was given."""
        return self.names[self.chosen[index]]

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
