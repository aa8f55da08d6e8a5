# SPDX-License-Identifier: Apache-2.0
"""Upgrade checks of `gantt-status`, over the message bus only."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import oslo_messaging as messaging
from oslo_config import cfg
from oslo_upgradecheck import upgradecheck
from oslo_upgradecheck.upgradecheck import Code, Result

from rpcapi import errors
from rpcapi.admin.error_messages import describe_error
from rpcapi.admin.service_states import AGENT
from rpcapi.admin.session import Session
from rpcapi.bounds import CollectionSize
from rpcapi.cli.partition import ACKNOWLEDGED, NAMESPACE
from rpcapi.clients.client import ServiceClient
from rpcapi.clients.scheduler import BusBackend
from rpcapi.clients.served_versions import SERVED, served_versions
from rpcapi.messaging import bus

Check = Callable[["StatusChecks"], Result]
MAX_NAMES = 5  # listed in a message
WARNING_SHARE = 0.8  # of a size limit, from which a store's size is a warning
PROBE = "gantt-status"  # consumer that never has a claim


def _fail_on_error(check: Check) -> Check:
    @functools.wraps(check)
    def run_check(self: "StatusChecks") -> Result:
        try:
            return check(self)
        except (errors.GanttError, messaging.MessagingException) as error:
            return Result(Code.FAILURE, describe_error(error))

    return run_check


class StatusChecks(upgradecheck.UpgradeCommands):
    """Read-only upgrade checks."""

    display_title = "Cluster status"

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self.session = Session.of_daemon(conf)

    def configuration(self) -> Result:
        return Result(Code.SUCCESS, f"{len(dict(self.session.flavors))} flavors")

    def conductor(self) -> Result:
        """Check that a conductor answers at the newest RPC version, and its store acknowledges writes."""
        return self._check_version(self.session.conductor, "check_store")

    def scheduler(self) -> Result:
        client = BusBackend(self.session.conf, self.session.transport)
        return self._check_version(client, "list_host_state", namespace="service", limit=1)

    def claims(self) -> Result:
        return self._check_version(self.session.claims, "list_claims", limit=1)

    def services(self) -> Result:
        """Check that every service is up, and every agent has audited in this epoch."""
        states = list(self.session.list_states("service"))
        down = [state.name for state in states if not state.document.get("alive")]
        agents = [state for state in states if state.document.get("binary") == AGENT]
        unaudited = [state.name for state in agents if not state.document.get("audited")]
        details = [_format_names("down", down), _format_names("not audited in this epoch", unaudited)]
        if not agents:
            details.append("no agent has reported yet")
        faulty = [sentence for sentence in details if sentence]
        return Result(Code.WARNING if faulty else Code.SUCCESS, "; ".join(faulty) or f"{len(states)} services up")

    def versions(self) -> Result:
        """Check that every living service reports this release's RPC versions."""
        outdated: dict[str, list[str]] = {}
        checked = 0
        for state in self.session.list_states("service"):
            expected = served_versions(state.document.get("binary", ""))
            if state.document.get("alive") and expected:
                checked += 1
                reported = state.document.get("rpc_versions")
                if reported != expected:
                    outdated.setdefault(_describe_versions(reported), []).append(state.name)
        if not outdated:
            return Result(Code.SUCCESS, f"{checked} services report the versions of this release")
        details = [_format_names(f"{len(names)} of {checked} report {text}", names) for text, names in outdated.items()]
        newest = ", ".join(_describe_versions(served_versions(binary)) for binary in SERVED)
        return Result(Code.FAILURE, f"{'; '.join(details)}. This release serves {newest}: upgrade the others")

    def partitions(self) -> Result:
        """Check that each partition acknowledges writes, has correct sums, and exceeds no capacity."""
        results = [self._verified(name) for name in self.session.partitions()]
        return Result(max(result.code for result in results), "; ".join(result.details or "" for result in results))

    def placement(self) -> Result:
        """Warn about epochs that may have lost records of Placement API clients."""
        epochs = self.session.partition_epochs()
        states = self.session.list_states(NAMESPACE)
        acknowledged = {state.name: state.document.get(ACKNOWLEDGED, 0) for state in states}
        late = {name: epochs[name] for name, epoch in acknowledged.items() if epoch < epochs.get(name, 0)}
        if late:
            details = [
                f"partition {name} began epoch {epoch}: records of Placement API clients may be missing. Restore them "
                f"(docs/durability.md), then run: gantt partition acknowledge {name} {epoch}"
                for name, epoch in late.items()
            ]
            return Result(Code.WARNING, "; ".join(details))
        return Result(Code.SUCCESS, f"nothing was lost in {', '.join(acknowledged)}" if acknowledged else "not used")

    def stores(self) -> Result:
        calls = {f"partition {name}": self.session.claims_of(name).store_sizes for name in self.session.partitions()}
        calls["conductor"] = self.session.conductor.store_sizes
        results = [_measured(store, self.session.call(call).sizes) for store, call in calls.items()]
        return Result(max(result.code for result in results), "; ".join(result.details or "" for result in results))

    def dead_letters(self) -> Result:
        letters = bus.dead_letters(self.session.transport)
        if not letters:
            return Result(Code.SUCCESS, "this bus keeps none" if letters is None else "none")
        newest = letters[0]
        return Result(Code.WARNING, f"{len(letters)}; the newest was sent to {newest.queue}: {newest.reason}")

    def _verified(self, partition: str) -> Result:
        from rpcapi import objects  # noqa: PLC0415 - imported only by the commands that need it

        claims = self.session.claims_of(partition)
        # This read is answered only after enough replicas have all writes.
        self.session.call(claims.find_claims, objects.ClaimRefs.of(consumers=[PROBE], attempts=[1]))
        report = self.session.call(claims.verify)
        prefix = f"partition {report.partition}, epoch {report.epoch}"
        if report.problems:
            return Result(Code.FAILURE, f"{prefix}: {'; '.join(report.problems[:MAX_NAMES])}")
        if report.excess:
            return Result(Code.WARNING, f"{prefix}: {len(report.excess)} providers exceed their capacity")
        return Result(Code.SUCCESS, f"{prefix}: {sum(report.claims.values())} claims, all sums match")

    def _check_version(self, client: ServiceClient, method: str, **values: Any) -> Result:
        """Make a read-only call at the newest version, which an older service rejects."""
        try:
            self.session.call(client.call, client.VERSION, method, **values)
        except errors.UnknownMethod:
            return Result(
                Code.FAILURE,
                f"RPC version {client.VERSION} is not supported: upgrade the service, or cap it in [upgrade_levels]",
            )
        return Result(Code.SUCCESS, f"answers at version {client.VERSION}")

    _upgrade_checks = tuple(
        (title, _fail_on_error(check))
        for title, check in (
            ("Configuration", configuration),
            ("Conductor", conductor),
            ("Scheduler", scheduler),
            ("Claims", claims),
            ("Services", services),
            ("RPC versions", versions),
            ("Partition", partitions),
            ("Placement API", placement),
            ("Stores", stores),
            ("Dead letters", dead_letters),
        )
    )


def _measured(store: str, sizes: Mapping[str, CollectionSize]) -> Result:
    """Rate a store's collection sizes: warning from WARNING_SHARE of a limit, failure at the limit."""
    code = Code.SUCCESS
    texts = []
    for name, size in sizes.items():
        share = 0.0 if size.rotates or not size.bound else size.bytes / size.bound
        code = max(code, Code.FAILURE if share >= 1 else Code.WARNING if share >= WARNING_SHARE else Code.SUCCESS)
        remark = "" if share < WARNING_SHARE else ": new work is refused" if share >= 1 else ": nearly full"
        bound = f" of {_format_bytes(size.bound)}" if size.bound else ""
        texts.append(f"{size.entries} {name} ({_format_bytes(size.bytes)}{bound}{remark})")
    return Result(code, f"{store}: {', '.join(texts)}")


def _format_bytes(size: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:.3g} GiB"


def _describe_versions(versions: Mapping[str, str] | None) -> str:
    if not versions:
        return "no version"
    return " and ".join(f"{topic} {version}" for topic, version in sorted(versions.items()))


def _format_names(label: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    rest = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return f"{label}: {', '.join(names[:MAX_NAMES])}{rest}"
