import pandas as pd

from hetcal.data.guess import guess_roles


def test_known_names_and_role_values_are_recognised(segments):
    roles = guess_roles(segments)
    assert (roles.label, roles.split, roles.score) == ("label", "split", "score")


def test_the_last_column_with_two_values_is_taken_for_the_label():
    frame = pd.DataFrame({"sex": ["m", "f", "m"], "age": [1, 2, 3], "died": [0, 1, 1]})
    assert guess_roles(frame).label == "died"


def test_a_table_without_two_valued_columns_still_gets_a_label_to_correct():
    frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]})
    assert guess_roles(frame).label == "b"


def test_without_two_values_a_well_known_name_is_the_label():
    frame = pd.DataFrame({"a": [1, 2, 3], "Class": ["x", "y", "z"], "b": [1.5, 2.5, 3.5]})
    assert guess_roles(frame).label == "Class"


def test_without_two_values_the_last_column_of_a_few_categories_is_the_label():
    frame = pd.DataFrame({"a": [1.5, 2, 3], "kind": ["x", "y", "z"], "b": [1.5, 2.5, 3.5]})
    assert guess_roles(frame).label == "kind"


def test_scores_that_follow_a_label_of_whole_numbers_are_not_taken_for_it():
    numbers = range(60)
    frame = pd.DataFrame({"kind": [i % 3 for i in numbers], "id": numbers})
    frame[["p0", "p1"]] = [(i / 60, 1 - i / 60) for i in numbers]
    assert guess_roles(frame).label == "kind"


def test_a_text_column_named_score_is_no_score():
    frame = pd.DataFrame({"score": ["low", "high", "low"], "label": [0, 1, 0]})
    assert guess_roles(frame).score is None


def test_the_best_known_name_is_the_label_wherever_it_stands():
    frame = pd.DataFrame({"default": [0, 1, 1], "age": [30, 40, 50], "y": [1, 0, 1]})
    assert guess_roles(frame).label == "y"
