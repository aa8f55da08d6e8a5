# SPDX-License-Identifier: Apache-2.0
"""Versioned objects: the payloads of RPC messages."""

from rpcapi.objects.build import BuildReport, BuildRequest
from rpcapi.objects.claim import (
    AuditAnswer,
    AuditReport,
    ClaimAnswers,
    ClaimIntents,
    ClaimPage,
    ClaimRefs,
    VerifyReport,
)
from rpcapi.objects.copy import CopyPage, GuestCopies, MigrationChecks
from rpcapi.objects.decision import Decision, DecisionPage
from rpcapi.objects.extension import FilterList
from rpcapi.objects.guest import GuestOperations, GuestOwners, GuestPage, GuestTransitions
from rpcapi.objects.host_state import ChangePage, HostState, HostStatePage
from rpcapi.objects.instance import Instance, InstancePage, RecordedHosts
from rpcapi.objects.migration import Migration, MigrationPage
from rpcapi.objects.nova_audit import NovaAudit
from rpcapi.objects.partition import PartitionList
from rpcapi.objects.quota import ProjectQuota
from rpcapi.objects.request_spec import RequestSpec
from rpcapi.objects.selection_batch import SelectionAnswers, SelectionRequests
from rpcapi.objects.selections import Selections
from rpcapi.objects.server_group import ServerGroup, ServerGroupPage
from rpcapi.objects.stats import StatsAnswer, StatsReport
from rpcapi.objects.store_sizes import StoreSizes

__all__ = [
    "AuditAnswer",
    "AuditReport",
    "BuildReport",
    "BuildRequest",
    "ChangePage",
    "ClaimAnswers",
    "ClaimIntents",
    "ClaimPage",
    "ClaimRefs",
    "CopyPage",
    "Decision",
    "DecisionPage",
    "FilterList",
    "GuestCopies",
    "GuestOperations",
    "GuestOwners",
    "GuestPage",
    "GuestTransitions",
    "HostState",
    "HostStatePage",
    "Instance",
    "InstancePage",
    "Migration",
    "MigrationChecks",
    "MigrationPage",
    "NovaAudit",
    "PartitionList",
    "ProjectQuota",
    "RecordedHosts",
    "RequestSpec",
    "SelectionAnswers",
    "SelectionRequests",
    "Selections",
    "ServerGroup",
    "ServerGroupPage",
    "StatsAnswer",
    "StatsReport",
    "StoreSizes",
    "VerifyReport",
]
