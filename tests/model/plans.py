# SPDX-License-Identifier: Apache-2.0
"""The plans that are explored: each kind of operation."""

from tests.model.requests import Plan
from tests.model.saga import Site
from tests.model.state import Left

ACROSS = Site(partitions=(0, 1))  # source and destination are in two partitions
THREE_HOSTS = Site((0,), (1, 2), partitions=(0, 0, 0))
THREE_ACROSS = Site((0,), (1, 2), partitions=(0, 1, 1))
BACK = Site((0,), (0, 1))  # a second migration leads back to the first host
BACK_ACROSS = BACK._replace(partitions=(0, 1))
TWO_CONFIRMED = ("migrate", "confirm", "migrate again", "confirm again")
OPERATIONS = (
    Plan("boot", ("boot", "delete"), is_booted=False),
    Plan("delete", ("delete",)),
    Plan("confirmed migration", ("migrate", "confirm")),
    Plan("reverted migration", ("migrate", "revert")),
    Plan("deleted migration", ("migrate", "delete")),
    Plan("confirmed migration, an alternate", ("migrate", "confirm"), site=THREE_HOSTS),
    Plan("reverted migration, an alternate", ("migrate", "revert"), site=THREE_HOSTS),
    Plan("deleted migration, an alternate", ("migrate", "delete"), site=THREE_HOSTS),
    Plan("resize, an alternate", ("resize", "confirm", "revert"), site=THREE_HOSTS._replace(destination=(0, 1, 2))),
    Plan("resize on the same host", ("resize", "confirm", "revert"), site=Site(destination=(0,))),
    Plan("live migration", ("live-migrate", "abort")),
    Plan("forced live migration", ("live-migrate", "force")),
    Plan("post-copy", ("live-migrate", "force"), site=Site(post_copy=True)),
    Plan("evacuation", ("evacuate",), Left(outages=1), fences=True),
    Plan("reverted migration, an outage", ("migrate", "revert"), Left(outages=1)),
    Plan("confirmed migration across partitions", ("migrate", "confirm"), site=ACROSS),
    Plan("reverted migration across partitions", ("migrate", "revert"), site=ACROSS),
    Plan("deleted migration across partitions", ("migrate", "delete"), site=ACROSS),
    Plan("confirmed migration across partitions, an alternate", ("migrate", "confirm"), site=THREE_ACROSS),
    Plan("reverted migration across partitions, an alternate", ("migrate", "revert"), site=THREE_ACROSS),
    Plan("migration across partitions", ("migrate", "revert", "confirm"), site=ACROSS, stores="record"),
    Plan(
        "migration across partitions, an alternate",
        ("migrate", "revert", "confirm"),
        site=THREE_ACROSS,
        stores="record",
    ),
    Plan("reverted migration across partitions, an outage", ("migrate", "revert"), Left(outages=1), ACROSS),
    Plan("two confirmed migrations", TWO_CONFIRMED, site=BACK, stores="record"),
    Plan(
        "a confirmed and a reverted migration",
        ("migrate", "confirm", "migrate again", "revert again"),
        site=BACK,
        stores="record",
    ),
    Plan(
        "a reverted and a confirmed migration",
        ("migrate", "revert", "migrate again", "confirm again"),
        site=BACK,
        stores="record",
    ),
    Plan("two reverted migrations", ("migrate", "revert", "migrate again", "revert again"), site=BACK, stores="record"),
    Plan(
        "two live migrations",
        ("live-migrate", "force", "live-migrate again", "abort again"),
        site=BACK,
        stores="record",
    ),
)
# A host is lost and fenced at any moment of a move.
FENCES = (
    Plan("confirmed migration", ("migrate", "confirm"), Left(outages=1), fences=True),
    Plan("reverted migration", ("migrate", "revert"), Left(outages=1), fences=True),
    Plan("resize on the same host", ("resize", "confirm", "revert"), Left(outages=1), Site((0, 1), (0,)), fences=True),
    Plan("confirmed migration across partitions", ("migrate", "confirm"), Left(outages=1), ACROSS, fences=True),
    Plan("reverted migration across partitions", ("migrate", "revert"), Left(outages=1), ACROSS, fences=True),
    Plan("live migration", ("live-migrate", "abort"), Left(outages=1), fences=True),
    Plan("post-copy", ("live-migrate", "force"), Left(outages=1), Site(post_copy=True), fences=True),
)
FAULTS = {
    "loss": Left(losses=1),
    "late message": Left(late=1),
    "crash": Left(crashes=1),
    "failure": Left(failures=1),
}
# Not replayed: a rebuilt move selects within its partition, which the model does not.
ACROSS_TWICE = Plan("two confirmed migrations across partitions", TWO_CONFIRMED, site=BACK_ACROSS, stores="record")
PLANS = {plan.name: plan for plan in (*OPERATIONS, ACROSS_TWICE)}


def with_faults(plan: Plan, *faults: Left) -> Plan:
    """Return a plan with more faults."""
    left = Left(*(sum(numbers) for numbers in zip(plan.left, *faults, strict=True)))
    return plan._replace(left=left)


def forgetting_all(plan: Plan) -> Plan:
    """Return a plan in which all stores forget at once, as after a power loss of the one machine that has them."""
    return with_faults(plan, FAULTS["loss"])._replace(stores="all")
