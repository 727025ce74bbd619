"""Places for the labels of markers, so that none covers another label or a marker."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hetcal.arrays import Bools, Floats

Range = tuple[float, float]
PLACES = {
    "top right": (1, -1),
    "bottom right": (1, 1),
    "top left": (-1, -1),
    "bottom left": (-1, 1),
    "top center": (0, -1),
    "bottom center": (0, 1),
    "middle right": (1, 0),
    "middle left": (-1, 0),
}
"""Plotly's names of the places around a marker, and where they are; y grows downwards."""

FRAMES = ((420.0, 310.0), (280.0, 250.0))
"""Pixels between the axes: in a wide and in a narrow window."""

SIGN_WIDTH, LINE_HEIGHT = 7.5, 13.0  # pixels of a label's text


@dataclass(frozen=True)
class Mark:
    """A marker: its place, diameter in pixels, half the lengths of its bars, and its label."""

    x: float
    y: float
    size: float
    bar_x: float = 0.0
    bar_y: float = 0.0
    label: str = ""


def axis_ranges(marks: Sequence[Mark]) -> tuple[Range, Range]:
    """Return the ranges of both axes that show all bars, with room for labels.

    >>> axis_ranges([Mark(1, 0, 12, bar_x=0.5), Mark(2, 0, 12)])
    ((0.35, 2.15), (-0.1, 0.1))
    """
    across = _range([each.x for each in marks], [each.bar_x for each in marks])
    return across, _range([each.y for each in marks], [each.bar_y for each in marks])


def _range(middles: Sequence[float], halves: Sequence[float]) -> Range:
    low = min(middle - half for middle, half in zip(middles, halves, strict=True))
    high = max(middle + half for middle, half in zip(middles, halves, strict=True))
    room = 0.1 * (high - low) or 0.1
    return low - room, high + room


def label_places(marks: Sequence[Mark], x: Range, y: Range) -> list[str | None]:
    """Choose one of `PLACES` for each label, those of the first marks first; None without room.

    No label lies on a marker, on another label or outside the ranges `x` and `y` of the axes, in
    a wide and in a narrow window. Of the free places it takes the one with the fewest bars.
    """
    frames = [_Frame(marks, x, y, frame) for frame in FRAMES]
    return [_place(frames, i) if mark.label else None for i, mark in enumerate(marks)]


def _place(frames: list["_Frame"], mark: int) -> str | None:
    """Take the best place for a label that is free in every frame."""
    free = np.logical_and.reduce([each.free(mark) for each in frames])
    if not free.any():
        return None
    crossed = sum(each.crossed(mark) for each in frames)
    best = int(np.argmin(np.where(free, crossed, np.inf)))
    for each in frames:
        each.put(mark, best)
    return list(PLACES)[best]


class _Frame:
    """The markers and labels in one window, as boxes: left, top, right and bottom in pixels."""

    def __init__(self, marks: Sequence[Mark], x: Range, y: Range, frame: Range) -> None:
        scale = np.array([frame[0] / (x[1] - x[0]), frame[1] / (y[1] - y[0])])
        middle = np.array([[each.x - x[0], y[1] - each.y] for each in marks]) * scale
        radius = np.array([[each.size / 2] * 2 for each in marks])
        half = np.array([[each.bar_x, each.bar_y] for each in marks]) * scale
        across, upright = half * [1, 0], half * [0, 1]
        self._frame = frame
        self._solid = np.hstack([middle - radius, middle + radius])
        self._bars = np.vstack(
            [np.hstack([middle - each, middle + each]) for each in (across, upright)]
        )
        sizes = np.array([[SIGN_WIDTH * len(each.label), LINE_HEIGHT] for each in marks])
        away = np.array(list(PLACES.values()))
        # As Plotly does: a little beyond the edge of the marker, in each direction.
        shift = radius[:, None] / 0.8 + 1 + sizes[:, None] / 2
        centre = middle[:, None] + away * shift
        self._boxes = np.dstack([centre - sizes[:, None] / 2, centre + sizes[:, None] / 2])

    def free(self, mark: int) -> Bools:
        """Tell which places of a label cover nothing, and are inside the axes."""
        boxes = self._boxes[mark]
        inside = (boxes[:, :2] >= 0).all(axis=1) & (boxes[:, 2:] <= self._frame).all(axis=1)
        return np.asarray(inside & ~_overlap(boxes, self._solid).any(axis=1))

    def crossed(self, mark: int) -> Floats:
        """Count the bars under each place of a label."""
        return _overlap(self._boxes[mark], self._bars).sum(axis=1).astype(float)

    def put(self, mark: int, place: int) -> None:
        """Keep others off a label."""
        self._solid = np.vstack([self._solid, self._boxes[mark, place]])


def _overlap(boxes: Floats, others: Floats) -> Bools:
    """Tell which boxes overlap which others."""
    one, two = boxes[:, None], others[None]
    return np.asarray(((one[..., :2] < two[..., 2:]) & (two[..., :2] < one[..., 2:])).all(axis=2))
