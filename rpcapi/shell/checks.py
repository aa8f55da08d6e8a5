# SPDX-License-Identifier: Apache-2.0
"""Is this cluster fit to be upgraded? Asked over the bus alone."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import oslo_messaging as messaging
from oslo_config import cfg
from oslo_upgradecheck import upgradecheck
from oslo_upgradecheck.upgradecheck import Code, Result

from rpcapi import errors
from rpcapi.claims import ClaimsAPI
from rpcapi.client import ServiceClient
from rpcapi.conductor import ConductorAPI
from rpcapi.scheduler import BusBackend
from rpcapi.shell import faults
from rpcapi.shell.session import Session

Check = Callable[["StatusChecks"], Result]
LISTED = 5  # names in a sentence


def _answered(check: Check) -> Check:
    """Turn what keeps a check from its answer into a failed check."""

    @functools.wraps(check)
    def checked(self: "StatusChecks") -> Result:
        try:
            return check(self)
        except (errors.GanttError, messaging.MessagingException) as error:
            return Result(Code.FAILURE, faults.sentence(error))

    return checked


class _Conductor(ConductorAPI):
    call = ServiceClient._call


class _Claims(ClaimsAPI):
    call = ServiceClient._call


class StatusChecks(upgradecheck.UpgradeCommands):
    """The checks; each is one call or one listing, and changes nothing."""

    display_title = "Cluster status"

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self.session = Session()
        self.session.conf = conf  # read already, by the command line's own options

    @_answered
    def configuration(self) -> Result:
        """Are the flavors of the configuration ones that can be asked for?"""
        return Result(Code.SUCCESS, f"{len(self.session.flavors)} flavors")

    @_answered
    def conductor(self) -> Result:
        """Does a conductor answer, and know the newest version of its contract?"""
        client = _Conductor(self.session.conf, self.session.transport)
        return self._knows(client, "list_instances", limit=1)

    @_answered
    def scheduler(self) -> Result:
        """Does a scheduler answer, and know the newest version of its contract?"""
        client = BusBackend(self.session.conf, self.session.transport)
        return self._knows(client, "list_host_state", namespace="service", limit=1)

    @_answered
    def claims(self) -> Result:
        """Do the claims of the partition answer, and know the newest version of their contract?"""
        client = _Claims(self.session.conf, self.session.transport, self.session.conf.rpc.partition)
        return self._knows(client, "list_claims", limit=1)

    @_answered
    def services(self) -> Result:
        """Is every service up, and every agent audited in this epoch?"""
        states = list(self.session.pages(self.session.scheduler.list_host_state, "states", "service"))
        down = [state.name for state in states if not state.document.get("alive")]
        agents = [state for state in states if state.document.get("binary") == "gantt-compute"]
        unaudited = [state.name for state in agents if not state.document.get("audited")]
        said = [_named("down", down), _named("not audited in this epoch", unaudited)]
        if not agents:
            said.append("no agent has ever reported")
        faulty = [sentence for sentence in said if sentence]
        return Result(Code.WARNING if faulty else Code.SUCCESS, "; ".join(faulty) or f"{len(states)} services up")

    @_answered
    def partitions(self) -> Result:
        """Is every sum of each partition what its claims make it, and nothing over capacity?"""
        results = [self._verified(name) for name in self.session.partitions()]
        return Result(max(result.code for result in results), "; ".join(result.details or "" for result in results))

    def _verified(self, partition: str) -> Result:
        report = self.session.ask(self.session.claims_of(partition).verify)
        where = f"partition {report.partition}, epoch {report.epoch}"
        if report.problems:
            return Result(Code.FAILURE, f"{where}: {'; '.join(report.problems[:LISTED])}")
        if report.excess:
            return Result(Code.WARNING, f"{where}: {len(report.excess)} providers hold more than their capacity")
        return Result(Code.SUCCESS, f"{where}: {sum(report.claims.values())} claims, every sum is right")

    def _knows(self, client: "BusBackend | _Conductor | _Claims", method: str, **values: Any) -> Result:
        """Ask a harmless question at the newest version: a service that is older refuses it."""
        try:
            self.session.ask(client.call, client.VERSION, method, **values)
        except errors.UnknownMethod:
            return Result(
                Code.FAILURE,
                f"it does not know version {client.VERSION} of its contract: upgrade it, or cap it in [upgrade_levels]",
            )
        return Result(Code.SUCCESS, f"answers at version {client.VERSION}")

    _upgrade_checks = (
        ("Configuration", configuration),
        ("Conductor", conductor),
        ("Scheduler", scheduler),
        ("Claims", claims),
        ("Services", services),
        ("Partition", partitions),
    )


def _named(what: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"{what}: {', '.join(names[:LISTED])}{more}"
