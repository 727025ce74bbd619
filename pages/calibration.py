"""Calibration: what is applied to the score, in every leaf and for a single row."""

from hetcal.schemes.candidates import IDENTITY
from pages.shared.controls.maps import class_method_controls, map_controls, say_applied
from pages.shared.display.applied import show_applied
from pages.shared.display.maps import show_maps
from pages.shared.display.messages import warn_of_score
from pages.shared.display.rows import show_why
from pages.shared.display.terms import show_terms
from pages.shared.display.widgets import leaf_picker
from pages.shared.flow.applied import correction_of, has_maps
from pages.shared.frame import need_results, open_page
from pages.shared.links import next_page

open_page(
    "Calibration",
    "What is applied to the score of the model: in all rows, in one leaf, and for a single row. It "
    "is fitted on **held-out rows**, on which neither the network nor the tree was trained.",
)
flow = need_results()
warn_of_score(flow.whole.findings)
leaf = leaf_picker(flow.partition)
if flow.classes:
    class_method_controls(flow)
else:
    say_applied(flow)
correction = correction_of(flow)
untouched = flow.choice is not None and flow.choice.chosen == IDENTITY.name
if correction is not None:
    show_terms(correction)
elif has_maps(flow) and not untouched:
    map_controls(flow)
    show_maps(flow, leaf)
show_applied(flow, leaf)
show_why(flow, leaf)
next_page("pages/results.py", "Results")
