import numpy as np
import pytest

from hetcal.figures.calibration import FRAMES, Mark, axis_ranges, label_places


def boxes(marks, places, frame):
    """Left, top, right and bottom of every marker, then of every label, in pixels."""
    (left, right), (bottom, top) = axis_ranges(marks)
    found = []
    for mark in marks:
        x = (mark.x - left) / (right - left) * frame[0]
        y = (top - mark.y) / (top - bottom) * frame[1]
        found.append((x, y, mark.size / 2, mark.size / 2))
    for mark, place in zip(marks, places, strict=True):
        if place is not None:
            x, y, radius, _ = found[marks.index(mark)]
            width, height = 7 * len(mark.label) / 2, 6
            far = radius / 0.8 + 1  # as Plotly's textPointPosition has it
            x += ("right" in place) * (far + width) - ("left" in place) * (far + width)
            y += ("bottom" in place) * (far + height) - ("top" in place) * (far + height)
            found.append((x, y, width, height))
    return found


def apart(one, two):
    return abs(one[0] - two[0]) >= one[2] + two[2] or abs(one[1] - two[1]) >= one[3] + two[3]


def placed(marks):
    return label_places(marks, *axis_ranges(marks))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("leaves", [8, 20, 60])
def test_labels_are_on_no_marker_no_label_and_inside_the_axes(seed, leaves):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, leaves))
    marks = [Mark(*at, 12, 0.2, 0.1, str(i + 1)) for i, at in enumerate(zip(x, y, strict=True))]
    places = placed(marks)
    assert sum(place is not None for place in places) >= min(leaves, 20) / 2
    for frame in FRAMES:
        found = boxes(marks, places, frame)
        for i, label in enumerate(found[leaves:], leaves):
            assert all(apart(label, each) for each in found[:i])
            assert 0 <= label[0] - label[2] < label[0] + label[2] <= frame[0]
            assert 0 <= label[1] - label[3] < label[1] + label[3] <= frame[1]


def test_a_label_evades_bars_where_it_can():
    ends = [Mark(-3, -6, 1), Mark(3, 6, 1)]
    mark, wall = Mark(0, 1.7, 8, label="7"), Mark(0.5, 2, 0, 0.6, 0)
    assert placed([mark, *ends])[0] == "top right"
    assert "top" not in placed([mark, wall, *ends])[0]


def test_a_label_without_room_is_left_out_and_the_first_have_precedence():
    crowd = [Mark(x, y, 30) for x in np.linspace(-1, 1, 21) for y in np.linspace(-1, 1, 21)]
    assert placed([Mark(0, 0, 10, label="1"), *crowd])[0] is None
    twins = [Mark(0, 0, 10, label=str(i)) for i in range(20)]
    ends = [Mark(-1, -1, 1), Mark(1, 1, 1)]
    places = placed([*twins, *ends])
    assert None not in places[:4]
    assert len(set(places[:8]) - {None}) == sum(place is not None for place in places)


def test_marks_without_a_label_have_no_place():
    assert placed([Mark(0, 0, 10), Mark(1, 1, 10, label="a")])[0] is None


def test_axes_show_bars_whole():
    (left, right), (bottom, top) = axis_ranges([Mark(0, 0, 10, 2, 0), Mark(1, 5, 10, 0, 3)])
    assert left < -2 < 2 < right
    assert bottom < 0 < 8 < top
