# SPDX-License-Identifier: Apache-2.0
"""``gantt partition``: partitions (cells) of the deployment."""

import argparse

from rpcapi import errors
from rpcapi.admin.argument import Argument
from rpcapi.admin.service_states import DOWN, UP
from rpcapi.admin.state_write import update_document
from rpcapi.cli.command import Command, CommandOutput, Lister, counts_cell

# Namespace of documents by partition name, and their key for the acknowledged epoch.
NAMESPACE, ACKNOWLEDGED = "placement", "acknowledged_epoch"
PARTITION_OPTION = Argument("--partition", metavar="NAME", help="Only this partition; see `gantt partition list`.")
COLUMNS = ("name", "state", "hosts", "alive", "claims", "epoch", "position")


class ListPartitions(Lister):
    """List partitions: state of the store, hosts and claims."""

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        reply = self.session.call(self.session.scheduler.list_partitions)
        rows = reply.rows("names", "available", "hosts", "alive", "claims", "epochs", "positions")
        return COLUMNS, [
            (name, UP if available else DOWN, hosts, alive, counts_cell(claims), epoch, position)
            for name, available, hosts, alive, claims, epoch, position in rows
        ]


class AcknowledgeEpoch(Command):
    """Acknowledge that Placement API clients lost no records up to an epoch, or have restored them.

    `gantt-status upgrade check` then warns of later epochs only.
    """

    ARGUMENTS = (
        Argument("partition", help="The partition; see `gantt partition list`."),
        Argument("epoch", type=int, help="The epoch in the warning of `gantt-status upgrade check`."),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        name, epoch = parsed_args.partition, parsed_args.epoch
        epochs = self.session.partition_epochs()
        if name not in epochs:
            raise errors.UnknownPartition(partition=name, choices=", ".join(epochs))
        if not 0 < epoch <= epochs[name]:
            raise errors.InvalidRequest(
                why=f"partition {name!r} is in epoch {epochs[name]} and never had epoch {epoch}"
            )
        update_document(self.session, NAMESPACE, name, {ACKNOWLEDGED: epoch})
        self.show_message(f"epoch {epoch} of partition {name} is acknowledged")
