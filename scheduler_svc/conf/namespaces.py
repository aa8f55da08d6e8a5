# SPDX-License-Identifier: Apache-2.0
"""Namespaces of host state that a deployer declares: named in [scheduler] namespaces, a group each."""

import json
import re
from pathlib import Path

from oslo_config import cfg

from rpcapi import errors
from scheduler_svc.namespaces.namespace import Namespace
from scheduler_svc.namespaces.registry import NamespaceRegistry

PREFIX = "namespace:"
GROUP = f"{PREFIX}NAME"
MAX_SCHEMA = 256 * 1024  # bytes of a schema file

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")

OPTS: list[cfg.Opt] = [
    cfg.StrOpt(
        "writer",
        regex=r"^[^\s]{1,200}$",
        sample_default="rackd",
        help="Name of the one service that may write this namespace; others are refused. The group's name gives the "
        "namespace's, so that [namespace:rack] describes 'rack'.",
    ),
    cfg.StrOpt(
        "schema",
        sample_default="/etc/gantt/rack.schema.json",
        help="File with the JSON Schema (draft 2020-12) that every document must obey; it may refer to itself only. "
        "Without one any JSON object is taken.",
    ),
]


def load(conf: cfg.ConfigOpts) -> NamespaceRegistry:
    """Return the built-in namespaces and the declared ones, from a ``conf`` whose files have been read.

    Raises BadConfiguration for a name, a writer or a schema that cannot be used.
    """
    names = conf.scheduler.namespaces
    if len(set(names)) < len(names):
        raise errors.BadConfiguration(why="[scheduler] namespaces: one of them is named twice")
    try:
        return NamespaceRegistry([_read(conf, name) for name in names])
    except ValueError as error:
        raise errors.BadConfiguration(why=f"[scheduler] namespaces: {error}") from error


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration for a declaration that cannot be used."""
    load(conf)


def _read(conf: cfg.ConfigOpts, name: str) -> Namespace:
    group = f"{PREFIX}{name}"
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of a namespace: lower-case letters, digits, '-' and '_'")
    if name in NamespaceRegistry().names:
        raise ValueError(f"there is a namespace {name!r} already, in every deployment")
    conf.register_opts(OPTS, group=group)
    try:
        writer, schema = conf[group].writer, conf[group].schema
    except (cfg.Error, ValueError) as error:
        raise errors.BadConfiguration(why=f"[{group}] {error}") from error
    if not writer:
        raise errors.BadConfiguration(why=f"[{group}] writer is missing: it names the service that may write there")
    try:
        return Namespace(name, writer, _read_schema(schema) if schema else {"type": "object"})
    except (OSError, ValueError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise errors.BadConfiguration(why=f"[{group}] schema {schema!r} cannot be used: {why}") from error


def _read_schema(path: str) -> dict[str, object]:
    with Path(path).open("rb") as file:
        text = file.read(MAX_SCHEMA + 1)
    if len(text) > MAX_SCHEMA:
        raise ValueError(f"it has more than {MAX_SCHEMA} bytes")
    schema = json.loads(text)
    if not isinstance(schema, dict):
        raise ValueError("it does not hold a JSON object")
    return schema
