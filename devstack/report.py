# SPDX-License-Identifier: Apache-2.0
"""What landed where, as a table for the person who started the cluster."""

import collections
from collections.abc import Iterable

from prettytable import PrettyTable

from devstack.exercise import Outcome


def text(outcome: Outcome) -> str:
    """Return the servers by host and node, the errors by reason, and the sums with verify's word on them."""
    lines = [_table(outcome), *_faults(outcome), _summary(outcome)]
    return "\n".join(lines)


def _table(outcome: Outcome) -> str:
    states = {claim["consumer"]: claim["state"] for claim in outcome.claims}
    rows: dict[tuple[str, str], list[tuple[str, str, str]]] = collections.defaultdict(list)
    for instance in outcome.instances:
        host, _, node = (instance.host or "-").partition("/")
        rows[host, node].append((instance.flavor or "-", instance.status, states.get(instance.uuid, "none")))
    table = PrettyTable(["host", "node", "servers", "flavors", "status", "claims"], align="l")
    for (host, node), found in sorted(rows.items()):
        table.add_row([host, node, len(found), *(_counted(column) for column in zip(*found, strict=True))])
    return table.get_string()


def _faults(outcome: Outcome) -> list[str]:
    reasons = collections.Counter(instance.reason for instance in outcome.instances if instance.status == "ERROR")
    lines = [f"{count} in ERROR: {reason}" for reason, count in reasons.most_common()]
    if outcome.unclaimed:
        lines.append(f"ACTIVE without a confirmed claim: {', '.join(outcome.unclaimed)}")
    return lines


def _summary(outcome: Outcome) -> str:
    verify = outcome.verify
    if verify is None:
        return "Nothing was verified."
    claims = ", ".join(f"{count} {state}" for state, count in sorted(verify.claims.items())) or "none"
    verdict = "clean" if verify.clean else f"NOT CLEAN: {[*verify.problems, *verify.excess]}"
    statuses = _counted(instance.status for instance in outcome.instances)
    return f"Servers: {statuses}. Claims: {claims}. Verify: {verdict}."


def _counted(values: Iterable[str]) -> str:
    return ", ".join(f"{count} {value}" for value, count in sorted(collections.Counter(values).items()))
