# SPDX-License-Identifier: Apache-2.0
"""What the guests of a node were booted from: counts by image property, which ImagePropertiesWeigher reads."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oslo_config import cfg

from compute_agent.kinds.kind import Asked, Assignment, Below, ResourceKind

MOST = 32  # counts that a node reports: those of the commonest values
LONGEST = 100  # characters of a property's value; one that is longer is not counted


@dataclass(frozen=True, slots=True)
class ImageKind(ResourceKind):
    """Nothing that could run out: a guest is given what its image says, so that it is known after a restart too."""

    properties: tuple[str, ...]

    @classmethod
    def of_shape(cls, conf: cfg.ConfigOpts, group: str) -> "ImageKind | None":
        """Read which properties count."""
        names = tuple(conf[group].counted_image_properties)
        return cls(names) if names else None

    def inventory(self) -> Sequence[Below]:
        """Return the node, of which it tells something."""
        return [Below("")]

    def concerns(self, asked: Asked) -> bool:
        """Tell whether the guest's image has one of the properties."""
        return bool(self._of(asked.wish.image))

    def assign(self, asked: Asked, taken: Sequence[Assignment]) -> Assignment:
        """Return the properties that count."""
        return self._of(asked.wish.image)

    def report(self, taken: Sequence[Assignment]) -> Mapping[str, Any]:
        """Return a metric for each value of each property."""
        counted = Counter(f"image.{name}={value}" for each in taken for name, value in sorted(each.items()))
        return {"metrics": dict(counted.most_common(MOST))}

    def _of(self, image: Mapping[str, Any]) -> dict[str, str]:
        properties = image.get("properties", {})
        found = {name: str(properties[name]) for name in self.properties if name in properties}
        return {name: value for name, value in found.items() if len(value) <= LONGEST}
