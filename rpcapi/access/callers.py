# SPDX-License-Identifier: Apache-2.0
"""Allowed callers of each exposed method, enforced by bus.get_server and listed in docs/security.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from rpcapi import errors
from rpcapi.access.senders import Sender, SenderRole

AGENT, CONDUCTOR, SCHEDULER, OPERATOR, READER, CLIENT = (
    SenderRole.AGENT,
    SenderRole.CONDUCTOR,
    SenderRole.SCHEDULER,
    SenderRole.OPERATOR,
    SenderRole.READER,
    SenderRole.CLIENT,
)


class Rule(NamedTuple):
    """Callers of one method.

    ``host`` is the path of an argument, such as ``report.host``, that must name the calling agent's own host or node.
    Agents must omit ``not_by_agents``. ``project`` says where a call names its project: CONTEXT, the path of an
    argument, or RECORDS, which the method checks itself; None refuses clients of one project.
    """

    roles: frozenset[SenderRole]
    host: str | None = None
    not_by_agents: tuple[str, ...] = ()
    project: str | None = None


CONTEXT, RECORDS = "context", "records"


def _by(*roles: SenderRole, **limits: Any) -> Rule:
    return Rule(frozenset(roles), **limits)


# Rules by service (first word of the topic) and method. A method without a rule has no callers.
CALLERS: Mapping[str, Mapping[str, Rule]] = {
    "scheduler": {
        "select_destinations": _by(CONDUCTOR),
        "select_batch": _by(CONDUCTOR),
        "dry_run": _by(CLIENT, CONDUCTOR, OPERATOR, READER, project=CONTEXT),
        "explain": _by(CLIENT, OPERATOR, READER, project=RECORDS),
        "list_decisions": _by(OPERATOR, READER),
        "audit_nova": _by(OPERATOR),
        "list_filters": _by(OPERATOR, READER),
        # Shows the claims of all projects.
        "list_partitions": _by(CLIENT, CONDUCTOR, OPERATOR, READER),
        "update_resource_stats": _by(AGENT, host="name"),
        "exchange_stamps": _by(CONDUCTOR),
        "report_service": _by(CONDUCTOR),
        "get_oldest_versions": _by(AGENT, CONDUCTOR, CLIENT, OPERATOR, READER, project=CONTEXT),
        "remove_host": _by(OPERATOR),
        "get_host_state": _by(CONDUCTOR, OPERATOR, READER),
        "list_host_state": _by(OPERATOR, READER),
        "create_server_group": _by(CLIENT, OPERATOR, project="group.project"),
        "get_server_group": _by(CLIENT, CONDUCTOR, OPERATOR, READER, project=RECORDS),
        "list_server_groups": _by(CLIENT, OPERATOR, READER, project=RECORDS),
        "delete_server_group": _by(CLIENT, OPERATOR, project=RECORDS),
        "list_catalog": _by(CLIENT, OPERATOR, READER, project=CONTEXT),
        "update_host_state": _by(OPERATOR),
        "delete_host_state": _by(OPERATOR),
        "update_aggregates": _by(OPERATOR),
        "delete_aggregate": _by(OPERATOR),
    },
    "claims": {
        "prepare_claims": _by(CONDUCTOR),
        "confirm_claims": _by(AGENT, host="host"),
        "abort_claims": _by(AGENT, CONDUCTOR, host="host", not_by_agents=("destinations",)),
        "release_claims": _by(AGENT, host="host"),
        "begin_moves": _by(CONDUCTOR),
        "end_moves": _by(CONDUCTOR),
        "find_claims": _by(CONDUCTOR, OPERATOR, READER),
        "vouch_for_claims": _by(CONDUCTOR),
        "list_claims": _by(CONDUCTOR, OPERATOR, READER),
        "audit_host": _by(AGENT, host="report.host"),
        "verify": _by(OPERATOR),
        "store_sizes": _by(OPERATOR, READER),
        "list_changes": _by(OPERATOR, READER),
        "list_prepared_claims": _by(OPERATOR, READER),
        "fence_host": _by(OPERATOR),
    },
    "conductor": {
        "build_instances": _by(CLIENT, OPERATOR, project=CONTEXT),
        "delete_instances": _by(CLIENT, OPERATOR, project=RECORDS),
        "stop_instances": _by(CLIENT, OPERATOR, project=RECORDS),
        "start_instances": _by(CLIENT, OPERATOR, project=RECORDS),
        "reboot_instances": _by(CLIENT, OPERATOR, project=RECORDS),
        "rebuild_instances": _by(CLIENT, OPERATOR, project=RECORDS),
        "shelve_instances": _by(CLIENT, OPERATOR, project=RECORDS),
        "offload_instances": _by(CLIENT, OPERATOR, project=RECORDS),
        "unshelve_instances": _by(CLIENT, OPERATOR, project=RECORDS),
        "evacuate_instances": _by(OPERATOR),
        # Operators only, as in Nova: a target reveals hosts, and moves cost all projects.
        "migrate_instances": _by(OPERATOR),
        "resize_instances": _by(CLIENT, OPERATOR, project=RECORDS),
        "confirm_migrations": _by(CLIENT, OPERATOR, project=RECORDS),
        "revert_migrations": _by(CLIENT, OPERATOR, project=RECORDS),
        "get_specs": _by(CLIENT, OPERATOR, READER, project=RECORDS),
        "get_instances": _by(CLIENT, OPERATOR, READER, project=RECORDS),
        "list_instances": _by(CLIENT, OPERATOR, READER, project=RECORDS),
        "get_migrations": _by(CLIENT, OPERATOR, READER, project=RECORDS),
        "list_migrations": _by(OPERATOR, READER),
        "live_migrate_instances": _by(OPERATOR),
        "abort_migrations": _by(OPERATOR),
        "force_complete_migrations": _by(OPERATOR),
        "list_copies": _by(OPERATOR, READER),
        "report_builds": _by(AGENT, host="report.host"),
        "get_quota": _by(CLIENT, OPERATOR, READER, project="project"),
        "list_guests": _by(OPERATOR),
        "adopt_instances": _by(OPERATOR),
        "release_orphans": _by(OPERATOR),
        "compare_instances": _by(OPERATOR),
        "end_leaked_migrations": _by(OPERATOR),
        "check_store": _by(OPERATOR),
        "store_sizes": _by(OPERATOR, READER),
        "list_hosts": _by(SCHEDULER),
        "check_unverified": _by(SCHEDULER),
        "audit_hosts": _by(SCHEDULER),
        "object_backport_versions": _by(AGENT, SCHEDULER),
    },
    "compute": {
        "build_instances": _by(CONDUCTOR),
        "terminate_instances": _by(CONDUCTOR),
        "change_guests": _by(CONDUCTOR),
        "operate_guests": _by(CONDUCTOR),
        "check_migrations": _by(CONDUCTOR),
        "prepare_incoming": _by(CONDUCTOR),
        "copy_guests": _by(CONDUCTOR),
        "list_copies": _by(CONDUCTOR),
        "list_guests": _by(CONDUCTOR),
        "list_owners": _by(CONDUCTOR),
        "audit": _by(CONDUCTOR),
    },
}


class ServiceAccess:
    def __init__(self, service: str, rules: Mapping[str, Rule]) -> None:
        self._service = service
        self._rules = rules

    def check_role(self, method: str, sender: Sender | None) -> None:
        if sender is None:
            raise self._refusal(method, "an unauthenticated sender", "use a broker user of its own")
        rule = self._rules.get(method)
        roles = rule.roles if rule else frozenset()
        if sender.role not in roles | {SenderRole.ADMIN}:
            allowed = ", ".join(sorted(roles)) or "nobody"
            raise self._refusal(method, f"user {sender.user!r}", f"allowed callers: {allowed}")

    def check_host(self, method: str, sender: Sender, values: Mapping[str, Any]) -> None:
        rule = self._rules.get(method)
        if rule is None or rule.host is None or sender.role is not SenderRole.AGENT:
            return
        forbidden = [name for name in rule.not_by_agents if values.get(name) is not None]
        if forbidden:
            raise self._refusal(method, f"user {sender.user!r}", f"agents may not pass {forbidden[0]}")
        name = _argument(values, rule.host)
        if not sender.is_agent_of(name):
            raise self._refusal(
                method, f"user {sender.user!r}", f"{rule.host} is {str(name)[:80]!r}, not a host of this agent"
            )

    def check_project(self, method: str, sender: Sender, project: str | None, values: Mapping[str, Any]) -> None:
        """Raise CallerRefused if a client of one project names another; ``project`` is the context's."""
        if sender.project is None:
            return
        rule = self._rules.get(method)
        if rule is None or rule.project is None:
            raise self._refusal(method, f"user {sender.user!r}", "clients of one project may not call it")
        projects = [project or sender.project]
        if rule.project not in (CONTEXT, RECORDS):
            projects.append(_argument(values, rule.project))
        for name in projects:
            if name != sender.project:
                why = f"the client acts for project {sender.project!r} only, not for {str(name)[:80]!r}"
                raise self._refusal(method, f"user {sender.user!r}", why)

    def _refusal(self, method: str, caller: str, why: str) -> errors.CallerRefused:
        return errors.CallerRefused(caller=caller, service=self._service, method=method, why=why)


def access_of(service: str) -> ServiceAccess | None:
    rules = CALLERS.get(service)
    return None if rules is None else ServiceAccess(service, rules)


def _argument(values: Mapping[str, Any], path: str) -> Any:
    """Return the value at a dotted path, "" if missing."""
    name, _, field = path.partition(".")
    value = values.get(name, "")
    if not field:
        return "" if value is None else value
    try:
        return getattr(value, field, "")
    except NotImplementedError:  # unset field of a versioned object
        return ""
