# SPDX-License-Identifier: Apache-2.0
"""Nova's own scheduler and gantt through the wire select the same hosts for the same RequestSpecs.

Nova's side has Nova's databases and OpenStack Placement; gantt's has a bridge that reads the same databases, and the
same requests to Placement. Among hosts of the best weight Nova takes the one that gantt took; intended differences are
in docs/differences.md.
"""

import contextlib
import json
import random
import uuid

import oslo_messaging as messaging
import pytest

from devstack.servers.rabbitmq import RabbitNode
from tests.differential import asking, wire_clouds, wire_groups, wire_requests
from tests.differential.wire_pair import WirePair
from tests.support.servers import running

pytestmark = [pytest.mark.differential, pytest.mark.timeout(3600)]

CLOUDS = 100
GROUP_CLOUDS = 40
REQUESTS = 20
NEAR = 1e-6
NOTHING_CLAIMED = {"mappings": {}}  # by a rebuild
DATA = "nova_object.data"


@pytest.fixture(scope="module")
def url():
    with running(RabbitNode) as node:
        yield node.url().replace("gantt-rabbit://", "rabbit://")


@pytest.fixture(scope="module")
def nova():
    with asking.running("nova_scheduler_side.py") as peer:
        yield peer


@pytest.mark.parametrize("seed", range(CLOUDS))
def test_scheduler_selects_as_novas(nova, url, tally, seed):
    rng = random.Random(seed)
    cloud = wire_clouds.draw_cloud(rng)
    with contextlib.closing(WirePair(nova, url, cloud, wire_requests.draw_settings(rng, cloud))) as pair:
        pair.start()
        for _ in range(REQUESTS):
            compare(pair, tally, wire_requests.draw_request(rng, cloud))


@pytest.mark.parametrize("seed", range(GROUP_CLOUDS))
def test_request_groups_are_placed_as_by_nova_with_placement(nova, url, tally, seed):
    """Given ports and flavors with request groups, and hosts with devices below them."""
    rng = random.Random(f"groups {seed}")
    cloud = wire_clouds.draw_cloud(rng)
    devices = wire_groups.draw_devices(rng, cloud)
    with contextlib.closing(WirePair(nova, url, cloud, wire_requests.draw_settings(rng, cloud), devices)) as pair:
        pair.start()
        for _ in range(REQUESTS):
            compare(pair, tally, wire_requests.draw_request(rng, cloud, wire_groups.KINDS))


def compare(pair, tally, request):
    migration = str(uuid.uuid4()) if request["kind"] == "resize" else None
    hold_source(pair, request["uuids"][0], migration)
    try:
        tally[f"{request['kind']}: {compare_answers(pair, tally, request)}"] += 1
    finally:
        restore(pair, request["uuids"], migration)


def compare_answers(pair, tally, request):
    """Compare answers and allocations; return the outcome."""
    uuids = request["uuids"]
    primitive = pair.peer.ask("spec", fields=request["fields"])
    ours = gantts(pair, primitive, uuids)
    preferred = [[choice(fields) for fields in row] for row in ours.get("rows", ())]
    answer = pair.peer.ask("select", primitive=primitive, uuids=uuids, preferred=preferred, alternates=True)
    context = json.dumps({"request": request, "ours": ours, "nova": answer}, indent=1)
    assert ours.get("raised") == answer.get("raised"), context
    if is_node_of_a_disabled_cell(pair.cloud, request["fields"]) and "raised" in ours:
        return "refused, a node of a disabled cell, with another reason"
    assert ours.get("text") == answer.get("text"), context
    if "rows" in ours:
        check_mappings(pair, primitive, ours)
        compare_rows(ours["rows"], [[plain(item) for item in row] for row in answer["rows"]], answer["rounds"], context)
        tally["instances after the first"] += len(preferred) - 1
        tally["instances after the first, on another host than Nova's best"] += sum(
            others_are_better(ranked, row[0][:2])
            for ranked, row in zip(answer["rounds"][1:], preferred[1:], strict=False)
        )
    for name in uuids:
        nova_holds, gantt_holds = pair.allocations(name)
        assert nova_holds == gantt_holds, context
    return "selected" if "rows" in ours else ours["text"]


def choice(fields):
    """Return what Nova's side is to prefer: a host with its node and allocation request."""
    return [*key(fields), fields["allocation_request"]]


def check_mappings(pair, primitive, ours):
    """Nova's services read from each selection which provider serves which port."""
    selections = [selection for row in ours["selections"] for selection in row]
    rows = [fields for row in ours["rows"] for fields in row]
    for fields, providers in zip(
        rows, pair.peer.ask("providers", primitive=primitive, selections=selections), strict=True
    ):
        mappings = (fields["allocation_request"] or NOTHING_CLAIMED)["mappings"]
        assert providers.items() <= mappings.items(), (providers, mappings)


def is_node_of_a_disabled_cell(cloud, fields):
    """Return whether a node alone is forced, which Nova does not find in a disabled cell."""
    if fields["force_hosts"] or not fields["force_nodes"]:
        return False
    host = next(compute["host"] for compute in cloud["computes"] if compute["node"] == fields["force_nodes"][0])
    return cloud["cells"][wire_requests.cell_number(cloud, host)]["disabled"]


def compare_rows(ours, nova_rows, rounds, context):
    weights = {(host, node): weight for host, node, weight in rounds[-1]} if rounds else {}
    assert len(ours) == len(nova_rows), context
    for row, nova_row in zip(ours, nova_rows, strict=True):
        assert row[0] == nova_row[0], context
        assert {key(item) for item in row[1:]} <= weights.keys(), context
        own, novas = ([weights[key(item)] for item in items[1:]] for items in (row, nova_row))
        if len(ours) == 1:
            assert own == pytest.approx(novas, abs=NEAR), context
        assert len(own) == len(novas), context
        by_key = {key(item): item for item in nova_row}
        assert all(by_key.get(key(item), item) == item for item in row), context


def others_are_better(ranked, selected):
    weights = {(host, node): weight for host, node, weight in ranked}
    return weights[tuple(selected)] < max(weights.values()) - NEAR


def key(fields):
    return fields["service_host"], fields["nodename"]


def gantts(pair, primitive, uuids):
    pair.gantt.follow()
    try:
        answer = pair.gantt.client.select(primitive, uuids)
    except messaging.RemoteError as error:
        return {"raised": error.exc_type, "text": error.value}
    return {"rows": [[plain(selection) for selection in row] for row in answer], "selections": answer}


def plain(selection):
    """Return the fields of a Selection, its limits and its allocation request as mappings."""
    fields = dict(selection[DATA])
    fields["limits"] = fields["limits"] and fields["limits"][DATA]
    fields["allocation_request"] = json.loads(fields["allocation_request"])
    return fields


def hold_source(pair, instance, migration):
    """Let a migration hold what its instance held, as a conductor does before a move."""
    holding = pair.cloud["consumers"].get(instance)
    if migration and holding:
        pair.place([("DELETE", f"/allocations/{instance}", None)])
        pair.place([wire_clouds.put_allocation(migration, holding, None)])


def restore(pair, uuids, migration):
    """Give the instances what they held before the request, on both sides."""
    holdings = pair.cloud["consumers"]
    for name in (*([migration] if migration and uuids[0] in holdings else []), *uuids):
        for answer, place in zip(pair.allocations(name), (pair.place_there, pair.place_here), strict=True):
            allocations, *_, generation = answer
            if name in holdings:
                place([wire_clouds.put_allocation(name, holdings[name], generation)])
            elif allocations:
                place([("DELETE", f"/allocations/{name}", None)])
