import pytest

from hetcal.figures.base import NOT_DIMMED, PALETTE, draw, scatter, short_text, wrapped_text


def luminance(colour):
    """Relative luminance as the Web Content Accessibility Guidelines define it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_before_and_after_have_their_own_colours():
    assert (PALETTE["before"], PALETTE["after"]) == ("#0072B2", "#D55E00")


@pytest.mark.parametrize("name", ["before", "after", "pooled", "train", "test", "quiet"])
@pytest.mark.parametrize("background", ["#FFFFFF", "#0E1117"])
def test_lines_stand_out_from_light_and_dark_pages(name, background):
    lighter, darker = sorted([luminance(PALETTE[name]), luminance(background)], reverse=True)
    assert (lighter + 0.05) / (darker + 0.05) >= 3


def test_the_page_gives_background_and_text_colours():
    layout = draw([], 300).layout
    assert (layout.paper_bgcolor, layout.plot_bgcolor) == ("rgba(0,0,0,0)",) * 2
    assert layout.font.color is None
    assert layout.legend.font.color is None
    assert layout.height == 300


def test_the_legend_clears_the_titles_of_panels():
    plain, titled = draw([], 400), draw([], 400, title_lines=2)
    assert plain.layout.legend.orientation == "h"
    for figure in (plain, titled):
        legend = figure.layout.legend
        assert (legend.y, legend.yanchor, legend.yref) == (1, "top", "container")
    assert titled.layout.margin.t == plain.layout.margin.t + 2 * 19


def test_what_a_figure_asks_for_comes_on_top_of_the_common_frame():
    figure = draw([scatter(x=[1], y=[2])], y={"range": [0, 1]}, margin={"t": 5}, bargap=0.5)
    assert (figure.data[0].x, figure.data[0].type) == ((1,), "scatter")
    assert (figure.layout.yaxis.range, figure.layout.yaxis.automargin) == ((0, 1), True)
    assert (figure.layout.margin.t, figure.layout.margin.l) == (5, 70)
    assert figure.layout.bargap == 0.5


def test_a_property_that_plotly_does_not_know_is_refused():
    with pytest.raises(ValueError, match="colour"):
        draw([scatter(x=[1], y=[2], line={"colour": "red"})])


def test_a_click_does_not_fade_the_other_points():
    assert NOT_DIMMED["unselected"] == {"marker": {"opacity": 1}}


def test_texts_are_cut_before_they_are_escaped():
    assert short_text("<<<<", 3) == "&lt;&lt;…"
    assert short_text("job", 3) == "job"


def test_hover_texts_are_broken_and_escaped():
    assert wrapped_text("a <b> c", 4) == "a<br>&lt;b&gt;<br>c"
