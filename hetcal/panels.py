"""Panels: several plots in one figure, row by row, with ticks on the outer ones only."""

from dataclasses import dataclass
from typing import Any

from hetcal.figures import AXIS, Part


@dataclass(frozen=True)
class Panels:
    """A grid of panels, numbered from 0 at the top left.

    Parameters
    ----------
    count, across : int
        Number of panels, and of panels in a row.
    beside, below : float
        Free space between columns and between rows, as a share of the width and height.
    """

    count: int
    across: int = 1
    beside: float = 0.0
    below: float = 0.0

    @property
    def down(self) -> int:
        """Number of rows."""
        return -(-self.count // self.across)

    def axes_of(self, panel: int) -> dict[str, str]:
        """Name the axes of a panel, as its traces do."""
        return {axis: _named(axis[0], panel) for axis in ("xaxis", "yaxis")}

    def axes(self, x: Part, y: Part, *, same_heights: bool) -> dict[str, Any]:
        """Lay out the axes, given what all of them have.

        All panels share the horizontal scale; with `same_heights`, also the vertical one.
        """
        axes: dict[str, Any] = {}
        for panel in range(self.count):
            names, (across, up) = self.axes_of(panel), self._spans(panel)
            lowest, first = panel + self.across >= self.count, panel % self.across == 0
            x_matches = "x" if panel else None
            y_matches = "y" if panel and same_heights else None
            across_axis = {"anchor": names["yaxis"], "domain": across, "matches": x_matches}
            upright_axis = {"anchor": names["xaxis"], "domain": up, "matches": y_matches}
            axes[_named("xaxis", panel)] = _outer(x, lowest) | across_axis
            axes[_named("yaxis", panel)] = _outer(y, first or not same_heights) | upright_axis
        return axes

    def title(self, panel: int, text: str, size: float, *, left: bool) -> dict[str, Any]:
        """Write above a panel, at its left edge or in its middle."""
        across, up = self._spans(panel)
        return {
            "text": text,
            "x": across[0] if left else sum(across) / 2,
            "xanchor": "left" if left else "center",
            "y": up[1],
            "yanchor": "bottom",
            "xref": "paper",
            "yref": "paper",
            "showarrow": False,
            "font": {"size": size},
        }

    def _spans(self, panel: int) -> tuple[list[float], list[float]]:
        row, column = divmod(panel, self.across)
        width = (1 - self.beside * (self.across - 1)) / self.across
        height = (1 - self.below * (self.down - 1)) / self.down
        left, bottom = column * (width + self.beside), (self.down - 1 - row) * (height + self.below)
        return [left, min(left + width, 1.0)], [bottom, min(bottom + height, 1.0)]


def _named(axis: str, panel: int) -> str:
    """Name an axis of a panel; the first has no number.

    >>> _named("x", 0), _named("xaxis", 1)
    ('x', 'xaxis2')
    """
    return f"{axis}{panel + 1}" if panel else axis


def _outer(axis: Part, outside: bool) -> dict[str, Any]:
    shown = dict(axis) if outside else {**axis, "title": None}
    return {**AXIS, **shown, "showticklabels": outside}
