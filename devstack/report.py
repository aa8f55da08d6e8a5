# SPDX-License-Identifier: Apache-2.0
"""Result of a boot exercise as a text table."""

import collections
from collections.abc import Iterable

from prettytable import PrettyTable

from devstack.exercise import ExerciseResult
from rpcapi.resources.statuses import InstanceStatus


def text(result: ExerciseResult) -> str:
    lines = [_table(result), *_failures(result), _summary(result)]
    return "\n".join(lines)


def _table(result: ExerciseResult) -> str:
    states = {claim["consumer"]: claim["state"] for claim in result.claims}
    rows: dict[tuple[str, str], list[tuple[str, str, str]]] = collections.defaultdict(list)
    for instance in result.instances:
        host, _, node = (instance.host or "-").partition("/")
        rows[host, node].append((instance.flavor or "-", instance.status, states.get(instance.uuid, "none")))
    table = PrettyTable(["host", "node", "servers", "flavors", "status", "claims"], align="l")
    for (host, node), servers in sorted(rows.items()):
        table.add_row([host, node, len(servers), *(_format_counts(column) for column in zip(*servers, strict=True))])
    return table.get_string()


def _failures(result: ExerciseResult) -> list[str]:
    reasons = collections.Counter(
        instance.reason for instance in result.instances if instance.status == InstanceStatus.ERROR
    )
    lines = [f"{count} in ERROR: {reason}" for reason, count in reasons.most_common()]
    if result.unclaimed_uuids:
        lines.append(f"ACTIVE without a confirmed claim: {', '.join(result.unclaimed_uuids)}")
    return lines


def _summary(result: ExerciseResult) -> str:
    verify = result.verify
    if verify is None:
        return "Nothing was verified."
    claims = ", ".join(f"{count} {state}" for state, count in sorted(verify.claims.items())) or "none"
    verdict = "clean" if verify.clean else f"NOT CLEAN: {[*verify.problems, *verify.excess]}"
    statuses = _format_counts(instance.status for instance in result.instances)
    return f"Servers: {statuses}. Claims: {claims}. Verify: {verdict}."


def _format_counts(values: Iterable[str]) -> str:
    return ", ".join(f"{count} {value}" for value, count in sorted(collections.Counter(values).items()))
