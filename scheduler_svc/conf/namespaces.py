# SPDX-License-Identifier: Apache-2.0
"""Namespaces of host state that operators declare in [scheduler] namespaces, with one group each."""

import json
import re
from pathlib import Path

from oslo_config import cfg

from rpcapi import errors
from scheduler_svc.core.namespaces.namespace import Namespace
from scheduler_svc.core.namespaces.registry import NamespaceRegistry
from scheduler_svc.nova import namespaces as nova_namespaces

PREFIX = "namespace:"
GROUP = f"{PREFIX}NAME"
MAX_SCHEMA = 256 * 1024  # bytes per schema file

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")

OPTS: list[cfg.Opt] = [
    cfg.StrOpt(
        "writer",
        regex=r"^[^\s]{1,200}$",
        sample_default="rackd",
        help="Only service that may write this namespace; group [namespace:rack] describes namespace 'rack'.",
    ),
    cfg.StrOpt(
        "schema",
        sample_default="/etc/gantt/rack.schema.json",
        help="File with the JSON Schema (draft 2020-12) that every document must match; references to other files are "
        "not allowed. Unset: any JSON object is valid.",
    ),
]


def load(conf: cfg.ConfigOpts) -> NamespaceRegistry:
    """Return the built-in and declared namespaces. ``conf`` must have read its files. Raises BadConfiguration."""
    names = conf.scheduler.namespaces
    if len(set(names)) < len(names):
        raise errors.BadConfiguration(why="[scheduler] namespaces: duplicate name")
    try:
        return NamespaceRegistry([*nova_namespaces.build(), *(_read(conf, name) for name in names)])
    except ValueError as error:
        raise errors.BadConfiguration(why=f"[scheduler] namespaces: {error}") from error


def check(conf: cfg.ConfigOpts) -> None:
    load(conf)


def _read(conf: cfg.ConfigOpts, name: str) -> Namespace:
    group = f"{PREFIX}{name}"
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a valid namespace: use lower-case letters, digits, '-' and '_'")
    if name in NamespaceRegistry(nova_namespaces.build()).names:
        raise ValueError(f"namespace {name!r} is built in")
    conf.register_opts(OPTS, group=group)
    try:
        writer, schema = conf[group].writer, conf[group].schema
    except (cfg.Error, ValueError) as error:
        raise errors.BadConfiguration(why=f"[{group}] {error}") from error
    if not writer:
        raise errors.BadConfiguration(
            why=f"[{group}] writer is missing: set it to the name of the service that may write this namespace"
        )
    try:
        return Namespace(name, writer, _read_schema(schema) if schema else {"type": "object"})
    except (OSError, ValueError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise errors.BadConfiguration(why=f"[{group}] schema {schema!r} is invalid: {why}") from error


def _read_schema(path: str) -> dict[str, object]:
    with Path(path).open("rb") as file:
        text = file.read(MAX_SCHEMA + 1)
    if len(text) > MAX_SCHEMA:
        raise ValueError(f"it has more than {MAX_SCHEMA} bytes")
    schema = json.loads(text)
    if not isinstance(schema, dict):
        raise ValueError("it is not a JSON object")
    return schema
