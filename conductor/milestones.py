# SPDX-License-Identifier: Apache-2.0
"""The lines by which an operator follows a boot: hosts found, and each final status with its reasons."""

from collections import Counter
from collections.abc import Collection, Iterable

from oslo_log import log

from conductor.store.records import Instance, Status, Step

LOG = log.getLogger(__name__)

MOST_REASONS = 5  # lines for one batch; every instance's own reason is in its record


def tell(before: Iterable[Instance], after: Iterable[Instance], stale: Collection[str]) -> None:
    """Log, under the thread's request id, what a write made of a batch; the uuids in ``stale`` were not written.

    One line a kind of news, however many instances; a status that an instance had before is no news.
    """
    old = {each.uuid: each for each in before}
    changed = [(old[each.uuid], each) for each in after if each.uuid not in stale]
    selected = sum(was.step == Step.SELECT and now.step == Step.CAST for was, now in changed)
    if selected:
        LOG.info("Selected hosts for %d instances", selected)
    new = [now for was, now in changed if now.status != was.status]
    for status in (Status.ACTIVE, Status.DELETED):
        count = sum(each.status == status for each in new)
        if count:
            LOG.info("%d instances are %s", count, status)
    _tell_errors([each for each in new if each.status == Status.ERROR])


def _tell_errors(failed: Collection[Instance]) -> None:
    reasons = Counter(" ".join((each.reason or "no reason is recorded").split()) for each in failed)
    for reason, count in reasons.most_common(MOST_REASONS):
        LOG.info("%d instances are %s: %s", count, Status.ERROR, reason)
    rest = sum(count for _, count in reasons.most_common()[MOST_REASONS:])
    if rest:
        LOG.info("%d instances are %s for other reasons: 'gantt server list' shows them", rest, Status.ERROR)
