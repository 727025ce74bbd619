import pytest

from hetcal.figures.base import MAX_POINTS, PALETTE
from hetcal.figures.tree import MOST_LINES, tree_figure
from hetcal.partitions.nodes import Feature, Node
from hetcal.partitions.partition import Partition

TOWNS = tuple(f"<b>town {i} with a long name" for i in range(6))
TWO_LEAVES = Partition(
    (Feature("age", "number", whole=True),),
    (
        Node(1500, 0.2, "age", threshold=30.5, left=1, right=2),
        Node(1234, 0.1),
        Node(266, 0.664),
    ),
)


def chain(leaves):
    """A tree that splits one leaf off at every level."""
    nodes = []
    for level in range(leaves - 1):
        here = 2 * level
        nodes.append(Node(10, 0.5, "age", threshold=level + 0.5, left=here + 1, right=here + 2))
        nodes.append(Node(10, 0.5))
    return Partition((Feature("age", "number", whole=True),), (*nodes, Node(10, 0.5)))


def trace(figure, name):
    return next(each for each in figure.data if each.name == name)


def test_leaves_show_their_size_and_positive_rate():
    boxes = trace(tree_figure(TWO_LEAVES), "leaves")
    assert [text.strip() for text in boxes.text] == [
        "Leaf 1 · 1,234 rows · 10.0%",
        "Leaf 2 · 266 rows · 66.4%",
    ]
    assert list(boxes.marker.color) == [0.1, 0.664]
    assert boxes.marker.symbol == "square"


def test_rules_are_written_in_words():
    figure = tree_figure(TWO_LEAVES)
    assert list(trace(figure, "leaf rules").text) == ["age ≤ 30", "age &gt; 30"]
    assert trace(figure, "splits").text[0].strip() == "all rows · base rate 20.0%"


def test_a_click_finds_the_leaf():
    figure = tree_figure(TWO_LEAVES)
    assert list(trace(figure, "leaves").customdata) == [1, 2]
    assert list(trace(figure, "leaf bands").customdata) == [0, 1, 2]
    assert list(trace(figure, "splits").customdata) == [0]


def test_a_click_on_a_split_finds_its_branch_and_marks_its_leaves():
    figure = tree_figure(chain(4), selected=-1)
    assert list(trace(figure, "splits").customdata) == [0, -1, -2]
    assert [text.strip().startswith("<b>") for text in trace(figure, "splits").text] == [
        False,
        True,
        False,
    ]
    below = set(chain(4).members(-1))
    for name in ("leaf bands", "leaves"):
        marked = trace(figure, name)
        wide = [each == 3 for each in marked.marker.line.width]
        assert wide == [leaf in below for leaf in marked.customdata]


def test_the_selected_leaf_alone_is_outlined():
    figure = tree_figure(TWO_LEAVES, selected=2)
    bands, boxes = trace(figure, "leaf bands"), trace(figure, "leaves")
    assert list(bands.marker.line.width) == [0, 0, 3]
    assert boxes.marker.line.color[1] == PALETTE["selected"] != boxes.marker.line.color[0]
    assert boxes.text[1].strip().startswith("<b>Leaf 2</b>")
    assert max(tree_figure(TWO_LEAVES).data[0].marker.line.width) == 0


def test_grey_is_the_base_rate():
    axis = tree_figure(TWO_LEAVES).layout.coloraxis
    assert (axis.cmin, axis.cmax) == (0.1, 0.664)
    assert axis.colorscale[1][0] == pytest.approx((0.2 - 0.1) / (0.664 - 0.1))
    assert axis.colorbar.title.text == "positive rate"


def test_hover_tells_the_rule_the_rate_and_n():
    boxes = trace(tree_figure(TWO_LEAVES), "leaves")
    assert boxes.hovertext[0] == (
        "<b>Leaf 1</b><br>age ≤ 30<br>n = 1,234 training rows<br>positive rate 10.0%"
    )
    assert "%{hovertext}" in boxes.hovertemplate


def test_long_rules_are_cut_in_the_picture_escaped_and_whole_on_hover():
    nodes = (
        Node(9, 0.5, "town", categories=TOWNS[:3], left=1, right=2),
        Node(5, 0.4),
        Node(4, 0.6),
    )
    figure = tree_figure(Partition((Feature("town", "category", TOWNS),), nodes))
    rule, hover = trace(figure, "leaf rules").text[0], trace(figure, "leaves").hovertext[0]
    assert rule == "town is &lt;b&gt;town 0 with a long name, &lt;b&gt;town…"
    assert "town 2 with a long name" in hover.replace("<br>", " ")
    assert "<b>town" not in hover


def test_each_line_adds_to_the_height():
    small, large = (tree_figure(chain(leaves)).layout.height for leaves in (2, 16))
    assert large - small == 28 * 28  # 31 lines against 3, of 28 pixels


def test_a_deep_tree_does_not_run_into_the_leaf_boxes():
    figure = tree_figure(chain(40))
    assert max(trace(figure, "leaf rules").x) < 0.4 < min(trace(figure, "leaves").x)


def test_a_huge_tree_stays_within_the_points_of_a_chart():
    figure = tree_figure(chain(1024), selected=120)
    assert sum(len(each.x) for each in figure.data) <= MAX_POINTS
    assert len(figure.data[1].x) == 4 * MOST_LINES


def test_a_single_leaf_can_be_drawn():
    figure = tree_figure(Partition((), (Node(10, 0.0),)))
    assert trace(figure, "leaves").text[0].strip() == "Leaf 1 · 10 rows · 0.0%"
    assert figure.layout.coloraxis.cmin == 0
