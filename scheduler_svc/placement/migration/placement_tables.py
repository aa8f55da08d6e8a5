# SPDX-License-Identifier: Apache-2.0
"""Tables of a Placement database, with the columns that copies read or write."""

from sqlalchemy import Column, DateTime, Float, ForeignKey, Integer, MetaData, String, Table

METADATA = MetaData()
PROVIDER_ID = "resource_providers.id"


def _table(name: str, *columns: "Column[int] | Column[str] | Column[float]", has_id: bool = True) -> Table:
    key = [Column("id", Integer, primary_key=True)] if has_id else []
    times = (Column("created_at", DateTime), Column("updated_at", DateTime))
    return Table(name, METADATA, *key, *columns, *times)


PROVIDERS = _table(
    "resource_providers",
    Column("uuid", String(36)),
    Column("name", String(200)),
    Column("generation", Integer),
    Column("root_provider_id", Integer, ForeignKey(PROVIDER_ID)),
    Column("parent_provider_id", Integer, ForeignKey(PROVIDER_ID)),
)
INVENTORIES = _table(
    "inventories",
    Column("resource_provider_id", Integer),
    Column("resource_class_id", Integer),
    Column("total", Integer),
    Column("reserved", Integer),
    Column("min_unit", Integer),
    Column("max_unit", Integer),
    Column("step_size", Integer),
    Column("allocation_ratio", Float),
)
ALLOCATIONS = _table(
    "allocations",
    Column("resource_provider_id", Integer),
    Column("consumer_id", String(36)),
    Column("resource_class_id", Integer),
    Column("used", Integer),
)
CONSUMERS = _table(
    "consumers",
    Column("uuid", String(36)),
    Column("project_id", Integer),
    Column("user_id", Integer),
    Column("generation", Integer),
    Column("consumer_type_id", Integer, ForeignKey("consumer_types.id")),
)
RESOURCE_CLASSES = _table("resource_classes", Column("name", String(255)))
TRAITS = _table("traits", Column("name", String(255)))
AGGREGATES = _table("placement_aggregates", Column("uuid", String(36)))
PROJECTS = _table("projects", Column("external_id", String(255)))
USERS = _table("users", Column("external_id", String(255)))
CONSUMER_TYPES = _table("consumer_types", Column("name", String(255)))
PROVIDER_TRAITS = _table(
    "resource_provider_traits",
    Column("trait_id", Integer, ForeignKey("traits.id"), primary_key=True),
    Column("resource_provider_id", Integer, ForeignKey(PROVIDER_ID), primary_key=True),
    has_id=False,
)
PROVIDER_AGGREGATES = _table(
    "resource_provider_aggregates",
    Column("resource_provider_id", Integer, primary_key=True),
    Column("aggregate_id", Integer, primary_key=True),
    has_id=False,
)
