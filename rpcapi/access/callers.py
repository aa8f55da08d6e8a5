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


def _methods(names: str, *roles: SenderRole, **limits: Any) -> dict[str, Rule]:
    return dict.fromkeys(names.split(), Rule(frozenset(roles), **limits))


# Rules by service (first word of the topic) and method. A method without a rule has no callers.
CALLERS: Mapping[str, Mapping[str, Rule]] = {
    "scheduler": {
        **_methods("select_destinations select_batch exchange_stamps report_service", CONDUCTOR),
        **_methods("dry_run", CLIENT, CONDUCTOR, OPERATOR, READER, project=CONTEXT),
        **_methods("explain list_server_groups", CLIENT, OPERATOR, READER, project=RECORDS),
        **_methods("list_decisions list_filters list_host_state", OPERATOR, READER),
        **_methods(
            "audit_nova remove_host update_host_state delete_host_state update_aggregates delete_aggregate",
            OPERATOR,
        ),
        # Shows the claims of all projects.
        **_methods("list_partitions", CLIENT, CONDUCTOR, OPERATOR, READER),
        **_methods("update_resource_stats", AGENT, host="name"),
        **_methods("get_oldest_versions", AGENT, CONDUCTOR, CLIENT, OPERATOR, READER, project=CONTEXT),
        **_methods("get_host_state", CONDUCTOR, OPERATOR, READER),
        **_methods("create_server_group", CLIENT, OPERATOR, project="group.project"),
        **_methods("get_server_group", CLIENT, CONDUCTOR, OPERATOR, READER, project=RECORDS),
        **_methods("delete_server_group", CLIENT, OPERATOR, project=RECORDS),
        **_methods("list_catalog", CLIENT, OPERATOR, READER, project=CONTEXT),
    },
    "claims": {
        **_methods("prepare_claims begin_moves end_moves vouch_for_claims", CONDUCTOR),
        **_methods("confirm_claims release_claims", AGENT, host="host"),
        **_methods("abort_claims", AGENT, CONDUCTOR, host="host", not_by_agents=("destinations",)),
        **_methods("find_claims list_claims", CONDUCTOR, OPERATOR, READER),
        **_methods("audit_host", AGENT, host="report.host"),
        **_methods("verify fence_host", OPERATOR),
        **_methods("store_sizes list_changes list_prepared_claims", OPERATOR, READER),
    },
    "conductor": {
        **_methods("build_instances", CLIENT, OPERATOR, project=CONTEXT),
        **_methods(
            "delete_instances stop_instances start_instances reboot_instances rebuild_instances shelve_instances "
            "offload_instances unshelve_instances resize_instances confirm_migrations revert_migrations",
            CLIENT,
            OPERATOR,
            project=RECORDS,
        ),
        # Only operators move servers, as in Nova: a target reveals hosts, and moves cost all projects.
        **_methods(
            "evacuate_instances migrate_instances live_migrate_instances abort_migrations force_complete_migrations "
            "list_guests adopt_instances release_orphans compare_instances end_leaked_migrations check_store",
            OPERATOR,
        ),
        **_methods("get_specs get_instances list_instances get_migrations", CLIENT, OPERATOR, READER, project=RECORDS),
        **_methods("list_migrations list_copies store_sizes", OPERATOR, READER),
        **_methods("report_builds", AGENT, host="report.host"),
        **_methods("get_quota", CLIENT, OPERATOR, READER, project="project"),
        **_methods("list_hosts check_unverified audit_hosts", SCHEDULER),
        **_methods("object_backport_versions", AGENT, SCHEDULER),
    },
    "compute": {
        **_methods(
            "build_instances terminate_instances change_guests operate_guests check_migrations prepare_incoming "
            "copy_guests list_copies list_guests list_owners audit",
            CONDUCTOR,
        ),
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
