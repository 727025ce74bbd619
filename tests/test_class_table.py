import numpy as np
import pandas as pd
import pytest

from hetcal.class_table import classes_by_role, has_many_classes, make_class_table
from hetcal.errors import TableError
from hetcal.roles import Roles
from hetcal.splits import Split

FRAME = pd.DataFrame({"x": range(6), "kind": list("bacabc")})


def test_classes_are_the_values_of_the_label_in_order():
    found = make_class_table(FRAME, Roles("kind"), "digest")
    assert found.classes == ("a", "b", "c")
    assert found.y.tolist() == [1, 0, 2, 0, 1, 2]
    assert found.table.roles.features == ("x",)


def test_classes_can_be_put_in_the_order_of_the_outputs():
    found = make_class_table(FRAME, Roles("kind"), "digest", ("c", "a", "b"))
    assert found.y.tolist() == [2, 1, 0, 1, 2, 0]


def test_a_view_sets_one_class_against_all_others():
    found = make_class_table(FRAME, Roles("kind"), "digest")
    view = found.view(2)
    assert view.y.tolist() == [0, 0, 1, 0, 0, 1]
    assert view.roles.positive == "c"
    assert view.digest != found.view(1).digest


def test_rows_without_a_label_are_left_out_if_that_is_asked_for():
    frame = FRAME.assign(kind=["b", None, "c", "a", "b", "c"])
    found = make_class_table(frame, Roles("kind", drop_unlabelled=True), "digest")
    assert found.y.tolist() == [1, 2, 0, 1, 2]
    assert found.table.row_numbers().tolist() == [0, 2, 3, 4, 5]


@pytest.mark.parametrize("classes", [("a", "b"), ("a", "b", "c", "d"), ("a", "a", "b", "c")])
def test_classes_that_are_not_those_of_the_label_are_refused(classes):
    with pytest.raises(TableError, match="are not the values of the label column 'kind'"):
        make_class_table(FRAME, Roles("kind"), "digest", classes)


def test_a_label_with_too_many_values_is_refused():
    frame = pd.DataFrame({"x": range(200), "kind": [f"k{i}" for i in range(200)]})
    with pytest.raises(TableError, match="200 distinct values"):
        make_class_table(frame, Roles("kind"), "digest")


def test_a_label_that_does_not_exist_is_refused_by_name():
    with pytest.raises(TableError, match="no column 'kin'"):
        make_class_table(FRAME, Roles("kin"), "digest")


def test_shares_of_classes_are_counted_by_role_and_weight():
    frame = FRAME.assign(w=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    table = make_class_table(frame, Roles("kind", weight="w"), "digest")
    rows = np.arange(6)
    found = classes_by_role(table, Split(rows[:4], rows[:0], rows[4:5], rows[5:]))
    assert found["rows"].tolist() == [4, 0, 1, 1]
    assert found["share_of_rows"].tolist() == pytest.approx([4 / 6, 0, 1 / 6, 1 / 6])
    kinds = FRAME["kind"].tolist()[:4]
    for name in "abc":
        mass = sum(w for w, kind in zip(frame["w"], kinds, strict=False) if kind == name)
        assert found.at[0, f"class {name}"] == pytest.approx(mass / 10)
    assert found.loc[1].filter(like="class ").isna().all()


def test_more_than_two_values_without_a_positive_one_are_many_classes():
    assert has_many_classes(FRAME, Roles("kind"))
    assert not has_many_classes(FRAME, Roles("kind", positive="a"))
    assert not has_many_classes(FRAME[FRAME["kind"] != "c"], Roles("kind"))
    assert not has_many_classes(FRAME, Roles("nothing"))
