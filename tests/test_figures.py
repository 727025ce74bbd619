import pytest

from hetcal.figures import NOT_DIMMED, PALETTE, new_figure, set_frame, short_text, wrapped_text


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
    layout = new_figure(300).layout
    assert (layout.paper_bgcolor, layout.plot_bgcolor) == ("rgba(0,0,0,0)",) * 2
    assert layout.font.color is None
    assert layout.legend.font.color is None
    assert layout.height == 300


def test_the_legend_clears_the_titles_of_panels():
    plain, titled = new_figure(400), new_figure(400)
    set_frame(titled, 400, title_lines=2)
    assert plain.layout.legend.orientation == "h"
    assert titled.layout.legend.y > plain.layout.legend.y > 1
    assert titled.layout.margin.t > plain.layout.margin.t


def test_a_click_does_not_fade_the_other_points():
    assert NOT_DIMMED["unselected"] == {"marker": {"opacity": 1}}


def test_texts_are_cut_before_they_are_escaped():
    assert short_text("<<<<", 3) == "&lt;&lt;…"
    assert short_text("job", 3) == "job"


def test_hover_texts_are_broken_and_escaped():
    assert wrapped_text("a <b> c", 4) == "a<br>&lt;b&gt;<br>c"
