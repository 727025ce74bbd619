"""Data: every kind of table file, the roles of columns, and the split."""

import gzip
import json
from io import BytesIO

import numpy as np
import pandas as pd
import pytest

from hetcal.choices import PAPER_FRACTIONS
from hetcal.data.reading import read_file
from hetcal.data.splits import ROLES, split_by_fraction
from hetcal.errors import HetcalError
from hetcal.store import work
from hetcal.store.store import Store
from hetcal.store.workspace import RAW_TABLE, UNDONE, workspace_of
from tests.data.simulated_groups import simulated
from tests.pages.visit import (
    calm,
    go,
    links,
    open_page,
    press,
    said,
    table_with,
    the_error,
    the_run,
    upload,
    with_scores,
    with_table,
)

WAYS = ["One file", "One file per role", "Path on this machine"]


def csv(frame, **kwargs):
    return frame.to_csv(index=False, **kwargs).encode()


def balance(app):
    return table_with(app, "share_of_rows").set_index("role")


def choose_kind(app, kind):
    return app.segmented_control[0].set_value(kind).run()


def name_path(path):
    app = choose_kind(open_page("pages/data.py"), "Path on this machine")
    return app.text_input(key="data_path").set_value(str(path)).run()


def guesses(app):
    """The line that says what was guessed, without its icon; None where there is none."""
    lines = [each.value.replace("**", "") for each in app.caption if "Guessed:" in each.value]
    assert len(lines) < 2
    return lines[0].removeprefix(":material/help: ") if lines else None


# Empty


def test_an_empty_page_offers_upload_and_demo_and_shows_no_table():
    app = calm(open_page("pages/data.py"))
    assert [each.key for each in app.file_uploader] == ["data_file"]
    assert links(app) == ["Or start with the demo"]
    assert not app.dataframe


# Loaded


def test_a_table_is_previewed_and_its_rows_are_counted_per_role(customers):
    app = calm(with_table(customers))
    assert app.subheader[0].value == "people.csv"
    assert "In use: 2,400 rows, 6 columns" in [each.value for each in app.caption]
    pd.testing.assert_frame_equal(
        app.dataframe[0].value, customers.head(8), check_dtype=False, check_exact=False
    )
    positive = (customers["label"] == "yes").groupby(customers["split"])
    shown = balance(app)
    assert dict(shown["rows"]) == dict(positive.size())
    assert dict(shown["positives"]) == dict(positive.sum())
    assert shown["positive_rate"].to_dict() == pytest.approx(positive.mean().to_dict())
    assert shown["share_of_rows"].sum() == pytest.approx(1)
    assert links(app) == ["Next: Scores"]


def test_the_columns_are_described(customers):
    holes = customers.assign(size=customers["size"].where(customers.index % 3 > 0))
    shown = table_with(with_table(holes), "kind").set_index("column")
    assert dict(shown["missing"]) == dict(holes.isna().sum())
    assert dict(shown["distinct"]) == dict(holes.nunique())
    assert shown.loc[["size", "segment"], "kind"].tolist() == ["number", "category"]


def test_label_positive_value_and_split_are_guessed(segments):
    app = with_table(segments)
    chosen = {each.key: each.value for each in app.selectbox}
    assert chosen["role_label"] == "label"
    assert chosen["role_positive"] == "yes"
    assert chosen["role_split"] == "split"
    assert chosen["role_group"] is None


def test_guesses_are_called_guesses_until_they_are_confirmed(segments):
    app = with_table(segments)
    line = "Guessed: label label, positive value yes, split split, score score. Change"
    assert guesses(app).startswith(line)
    app = go(go(app, "pages/scores.py"), "pages/data.py")
    assert guesses(app).startswith(line)
    assert guesses(press(app, "Confirm")) is None
    assert guesses(go(go(app, "pages/scores.py"), "pages/data.py")) is None
    upload(app, "data_file", "others.csv", segments.drop(columns="score"))
    assert guesses(app).startswith("Guessed: label label, positive value yes, split split. Change")


def test_what_the_user_changes_is_a_guess_no_more(segments):
    app = with_table(segments.assign(weight=1.0, other=segments["label"]))
    assert "row weight weight" in guesses(app)
    for weight in (None, "weight"):
        app.selectbox(key="role_weight").select(weight).run()
        assert "weight" not in guesses(app)
    app.selectbox(key="role_positive").select("no").run()
    assert guesses(app).startswith("Guessed: label label, split split, score score. Change")
    app.selectbox(key="role_label").select("other").run()
    assert guesses(app).startswith("Guessed: positive value yes, split split, score score. Change")
    app = go(app, "pages/scores.py")
    app.selectbox(key="scores_column").select("size").run()
    app = go(app, "pages/data.py")
    assert guesses(app).startswith("Guessed: positive value yes, split split. Change")


def test_what_files_and_demo_say_is_no_guess(segments, tmp_path, monkeypatch):
    monkeypatch.setenv("HETCAL_PATHS", str(tmp_path))
    for role, rows in segments.groupby("split"):
        rows.drop(columns="split").to_csv(tmp_path / f"{role}.csv", index=False)
    assert "split" not in guesses(calm(name_path(tmp_path)))
    app = press(open_page("app.py"), "The paper's example")
    assert guesses(calm(go(app, "pages/data.py"))) is None


def test_the_other_positive_value_turns_the_rates_round(segments):
    app = with_table(segments)
    before = balance(app)["positive_rate"]
    app.selectbox(key="role_positive").select("no").run()
    assert (balance(calm(app))["positive_rate"] + before).tolist() == pytest.approx([1] * 4)


def test_a_clean_table_is_called_clean_and_a_leak_is_named(customers):
    assert "No sign of label leakage" in said(calm(with_table(customers)).success)[0]
    leak = np.where(customers["label"] == "yes", 5.0, 1.0) + customers["noise"] / 100
    app = calm(with_table(customers.assign(twin=leak)))
    assert not app.success
    assert any("'twin'" in text for text in said(app.warning))
    app.multiselect(key="role_ignore").set_value(["twin"]).run()
    assert "No sign of label leakage" in said(calm(app).success)[0]


def test_choices_survive_a_look_at_another_page(segments):
    app = with_table(segments)
    app.selectbox(key="role_positive").select("no").run()
    app.multiselect(key="role_ignore").set_value(["size"]).run()
    app = go(go(app, "pages/scores.py"), "pages/data.py")
    assert app.selectbox(key="role_positive").value == "no"
    assert app.multiselect(key="role_ignore").value == ["size"]
    assert app.subheader[0].value == "people.csv"


def test_an_optional_choice_can_be_emptied_again(segments):
    app = with_table(segments)
    for role, column in (("group", "segment"), ("weight", "size"), ("split", "split")):
        box = app.selectbox(key=f"role_{role}")
        assert not box.proto.HasField("default"), "Streamlit shows no cross to empty it"
        box.select(column).run()
        assert app.selectbox(key=f"role_{role}").value == column
        app.selectbox(key=f"role_{role}").select(None).run()
        assert calm(app).selectbox(key=f"role_{role}").value is None


def test_without_a_split_column_the_papers_fractions_divide_the_rows(segments):
    app = with_table(segments.drop(columns="split"))
    y = (segments["label"] == "yes").to_numpy()
    expected = split_by_fraction(y, PAPER_FRACTIONS, 0)
    assert dict(balance(calm(app))["rows"]) == expected.counts
    boxes = [app.number_input(key=f"fraction_{i}").value for i in range(4)]
    assert boxes == pytest.approx([65, 11.9, 11.55, 11.55])

    for index, percent in enumerate((40, 10, 25, 25)):
        app.number_input(key=f"fraction_{index}").set_value(float(percent)).run()
    app.number_input(key="setting_seed").set_value(5).run()
    expected = split_by_fraction(y, (0.4, 0.1, 0.25, 0.25), 5)
    assert dict(balance(calm(app))["rows"]) == expected.counts


def test_groups_stay_whole_when_rows_are_divided(customers):
    household = np.arange(2_400) // 3
    app = with_table(customers.assign(household=household).drop(columns="split"))
    app.selectbox(key="role_group").select("household").run()
    y = (customers["label"] == "yes").to_numpy()
    expected = split_by_fraction(y, PAPER_FRACTIONS, 0, pd.Series(household))
    assert dict(balance(calm(app))["rows"]) == expected.counts
    assert not any("household" in text for text in said(app.warning))


def with_repeating_ids():
    """A table in which rows of one customer resemble each other, and no group is named."""
    return with_table(simulated(np.arange(2000) // 10, 1.5, seed=1))


def test_a_group_that_nobody_named_is_confirmed_with_one_click():
    app = calm(with_repeating_ids())
    assert any("'customer' repeats like an id" in text for text in said(app.warning))
    app = calm(press(app, "Keep rows of 'customer' together"))
    assert app.selectbox(key="role_group").value == "customer"
    assert app.multiselect(key="role_ignore").value == ["own0", "own1", "own2", "own3"]
    assert not any("repeats like an id" in text for text in said(app.warning))


def test_a_group_that_nobody_named_is_declined_with_one_click():
    app = calm(press(with_repeating_ids(), "Use it as a feature"))
    assert app.selectbox(key="role_group").value is None
    assert not any("repeats like an id" in text for text in said(app.warning))


def test_an_id_is_left_out_of_the_features_with_one_click(segments):
    ids = np.random.default_rng(0).integers(0, 500, len(segments))
    app = calm(with_table(segments.assign(customer_id=ids)))
    (warning,) = (text for text in said(app.warning) if "is named like an id" in text)
    assert "--" not in warning
    app = calm(press(app, r"Leave 'customer\_id' out"))
    assert app.multiselect(key="role_ignore").value == ["customer_id"]
    assert not any("is named like an id" in text for text in said(app.warning))


def test_a_column_of_dates_splits_the_rows_by_time(segments):
    days = pd.date_range("2024-01-01", periods=len(segments)).strftime("%Y-%m-%d")
    frame = segments.drop(columns="split").assign(day=days)
    app = calm(with_table(frame))
    assert any("earlier rows train and later rows test" in text for text in said(app.info))
    app.selectbox(key="role_split").select("day").run()
    shown = balance(calm(app))["rows"]
    assert shown["train"] == pytest.approx(0.65 * len(frame), abs=1)
    assert "setting_seed" not in [each.key for each in app.number_input]
    app.selectbox(key="role_split").select(None).run()
    assert "setting_seed" in [each.key for each in calm(app).number_input]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (lambda f: csv(f, sep=";", decimal=","), "semicolon-separated, utf-8, decimal comma"),
        (lambda f: csv(f, sep="\t"), "tab-separated, utf-8, decimal point"),
        (lambda f: gzip.compress(csv(f, sep="|")), "bar-separated, utf-8, decimal point, gzip"),
        (lambda f: f.to_csv(index=False).encode("utf-16"), "comma-separated, utf-16"),
    ],
)
def test_the_way_a_text_is_read_is_found_and_shown(segments, content, words):
    app = calm(with_table(content(segments)))
    assert any(words in each.label for each in app.expander)
    assert balance(app)["rows"].sum() == 2_400


def test_parquet_has_no_text_to_be_read_otherwise(segments):
    app = calm(with_table(segments.to_parquet(index=False), "people.parquet"))
    assert [each.label for each in app.expander] == ["More columns for the partition"]
    assert balance(app)["rows"].sum() == 2_400


def test_a_file_for_each_role_makes_one_table(segments):
    app = choose_kind(open_page("pages/data.py"), "One file per role")
    assert [each.key for each in app.file_uploader] == [f"data_{role}" for role in ROLES]
    parts = dict(list(segments.drop(columns="split").groupby(segments["split"])))
    upload(app, "data_train", "train.csv", parts["train"])
    assert "gives no calibration rows" in the_error(app)
    for role in ("calibration", "test", "validation"):
        upload(app, f"data_{role}", f"{role}.csv", parts[role])
    assert dict(balance(calm(app))["rows"]) == {role: len(parts[role]) for role in ROLES}


def test_files_of_roles_stay_when_the_page_is_left_before_the_last_one(segments):
    app = choose_kind(open_page("pages/data.py"), "One file per role")
    parts = dict(list(segments.drop(columns="split").groupby(segments["split"])))
    upload(app, "data_train", "train.csv", parts["train"])
    upload(app, "data_test", "test.csv", parts["test"])
    app = choose_kind(go(go(app, "pages/results.py"), "pages/data.py"), "One file per role")
    upload(app, "data_calibration", "calibration.csv", parts["calibration"])
    shown = {role: len(rows) for role, rows in parts.items() if role != "validation"}
    assert dict(balance(calm(app))["rows"]) == {**shown, "validation": 0}


def test_a_path_to_a_file_or_a_folder_is_read(segments, tmp_path, monkeypatch):
    monkeypatch.setenv("HETCAL_PATHS", str(tmp_path))
    segments.to_csv(tmp_path / "all.csv", index=False)
    app = calm(name_path("all.csv"))
    assert balance(app)["rows"].sum() == 2_400
    folder = tmp_path / "roles"
    folder.mkdir()
    for role, rows in segments.groupby("split"):
        rows.drop(columns="split").to_parquet(folder / f"{role}.parquet", index=False)
    app.text_input(key="data_path").set_value(str(folder)).run()
    pd.testing.assert_frame_equal(balance(calm(app)), balance(with_table(segments)))


def test_paths_are_offered_only_where_a_folder_is_named_for_them(tmp_path, monkeypatch, served_at):
    for address in ("localhost", "0.0.0.0", None):
        served_at(address)
        monkeypatch.delenv("HETCAL_PATHS", raising=False)
        assert open_page("pages/data.py").segmented_control[0].options == WAYS[:2]
        monkeypatch.setenv("HETCAL_PATHS", str(tmp_path))
        assert open_page("pages/data.py").segmented_control[0].options == WAYS


# Error


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"a,b,label\n", "no rows"),
        (b"a,a,label\n1,2,0\n3,4,1\n", "more than one column named 'a'"),
        (b"PK\x03\x04" + bytes(60), "people.csv"),
        (b"a,b\n1,2\n3,4,5\n", "Line 3"),
    ],
    ids=["empty", "header only", "twice the same name", "zip", "ragged"],
)
def test_a_file_that_is_no_table_is_refused_with_the_three_sentences_of_the_core(
    content, words, tmp_path
):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(HetcalError) as caught:
        read_file(tmp_path / "file", name="people.csv")
    app = with_table(content)
    assert the_error(app) == str(caught.value)
    assert words in caught.value.wrong
    assert [each.key for each in app.file_uploader] == ["data_file"]


@pytest.mark.parametrize("name", ["notes.xlsx", "notes.csv", "notes"])
def test_a_refused_file_leaves_the_run_as_it_was(customers, name):
    app = calm(with_table(customers))
    before = workspace_of(the_run(app))
    upload(app, "data_file", name, b"PK\x03\x04" + bytes(60))
    assert the_error(app).startswith(f"'{name}' is a zip archive or an Excel workbook")
    assert "In use: 2,400 rows, 6 columns" in [each.value for each in app.caption]
    assert workspace_of(the_run(app)) == before
    calm(press(app, "Discard the file"))
    assert [each.name for each in Store().all()] == ["people.csv · label"]
    upload(app, "data_file", "others.csv", customers.iloc[:2_000])
    assert "In use: 2,000 rows, 6 columns" in [each.value for each in calm(app).caption]


def test_bad_rows_can_be_skipped_where_the_message_says_so(segments):
    lines = csv(segments).decode().splitlines()
    lines[7] += ",one field too many"
    app = with_table("\n".join(lines).encode())
    assert "tick 'skip bad rows'" in the_error(app)
    box = app.checkbox(key="dialect_skip_bad_rows")
    assert box.label.lower().startswith("skip bad rows")
    box.check().run()
    assert balance(calm(app))["rows"].sum() == 2_399
    assert any(text.startswith("1 row") for text in said(app.info))
    assert app.checkbox(key="dialect_skip_bad_rows").value


def test_a_wrong_delimiter_is_explained_and_can_be_put_right(segments):
    app = with_table(segments)
    app.selectbox(key="dialect_delimiter").select(";").run()
    assert the_error(app)
    app.selectbox(key="dialect_delimiter").select(",").run()
    assert balance(calm(app))["rows"].sum() == 2_400


def test_a_label_with_three_values_has_three_classes_until_another_is_chosen(segments):
    kind = np.where(segments.index % 4 == 0, "maybe", segments["label"])
    app = with_table(segments.assign(kind=kind))
    app.selectbox(key="role_label").select("kind").run()
    assert balance(calm(app)).filter(like="class ").shape == (4, 3)
    app.selectbox(key="role_label").select("label").run()
    assert balance(calm(app))["positives"].sum() == (segments["label"] == "yes").sum()


def test_rows_without_a_label_are_left_out_where_the_message_says_so(segments):
    label = segments["label"].where(segments.index >= 100)
    app = with_table(segments.assign(label=label))
    assert "is empty in 100 of 2,400 rows" in the_error(app)
    box = app.checkbox(key="role_drop_unlabelled")
    assert box.label.lower() in the_error(app).lower()
    box.check().run()
    assert balance(calm(app))["rows"].sum() == 2_300


def test_a_label_that_is_also_left_out_loses_no_choice(segments):
    app = with_table(segments)
    app.multiselect(key="role_ignore").set_value(["segment", "size"]).run()
    app.selectbox(key="role_label").select("segment").run()
    assert not app.exception
    app.selectbox(key="role_label").select("label").run()
    assert app.multiselect(key="role_ignore").value == ["segment", "size"]


def test_no_calibration_rows_is_said_and_fractions_help(segments):
    split = segments["split"].replace("calibration", "train")
    app = with_table(segments.assign(split=split))
    assert "gives no calibration rows" in the_error(app)
    app.selectbox(key="role_split").select(None).run()
    app.multiselect(key="role_ignore").set_value(["split"]).run()
    assert (balance(calm(app))["rows"] > 0).all()


def test_fractions_that_do_not_add_up_stay_on_the_page_until_they_do(segments):
    app = with_table(segments.drop(columns="split"))
    app.number_input(key="fraction_0").set_value(70.0).run()
    assert "add up to 1.05" in the_error(app)
    assert app.number_input(key="fraction_0").value == 70
    app.number_input(key="fraction_1").set_value(6.9).run()
    assert balance(calm(app))["rows"].sum() == 2_400


def test_a_weight_below_zero_is_refused_by_name(segments):
    app = with_table(segments.assign(cost=-1.0))
    app.selectbox(key="role_weight").select("cost").run()
    assert the_error(app).startswith("The weight column 'cost' is negative in 2,400 rows.")
    assert app.selectbox(key="role_weight").value == "cost"


@pytest.mark.parametrize("path", ["none.csv", "/etc/passwd", "../x", "a" * 5_000, "a\0b"])
def test_a_path_to_nowhere_is_refused_and_stays_to_be_corrected(path, tmp_path, monkeypatch):
    monkeypatch.setenv("HETCAL_PATHS", str(tmp_path))
    app = name_path(path)
    assert "There is no file or folder" in the_error(app)
    assert app.text_input(key="data_path").value == path


@pytest.fixture
def limited(monkeypatch):
    """The limits that processes were given before they opened a file."""
    found = []
    monkeypatch.setattr(work, "confine", lambda limits: found.append(limits.seconds))
    return found


def test_a_packed_or_very_wide_table_is_read_by_a_process_with_limits(segments, limited):
    wide = segments.assign(**{f"constant {'x' * 70_000}": 1})
    for name, content in (
        ("people.parquet", segments.to_parquet(index=False)),
        ("people.csv.gz", gzip.compress(csv(segments))),
        ("people.csv", csv(wide)),
    ):
        assert balance(calm(with_table(content, name)))["rows"].sum() == 2_400
        assert limited == [work.READING]
        limited.clear()
    calm(with_table(segments))
    assert limited == []


def test_packed_embeddings_are_read_by_a_process_with_limits(segments, limited):
    for save, expected in ((np.save, []), (np.savez, [work.READING])):
        content = BytesIO()
        save(content, np.ones((2_400, 2)))
        calm(upload(with_table(segments), "data_embeddings", "own.npz", content.getvalue()))
        assert limited == expected


def test_names_of_the_user_are_never_read_as_markdown(segments):
    frame = segments.rename(columns={"label": "*y*"})
    app = with_table(frame, "**bold** :red[x].csv")
    assert app.subheader[0].value == r"\*\*bold\*\* \:red\[x\].csv"
    app.selectbox(key="role_label").select("*y*").run()
    app.selectbox(key="role_weight").select("*y*").run()
    assert r"The column '\*y\*' is chosen both as label and as weight." in app.error[0].value


# Beside the table


def scaled(frame):
    """The segments as a model reads them: a scaled column, and flags of the segment."""
    return frame.drop(columns="segment").assign(
        feature=frame["row"] / 1000, flag_a=(frame["segment"] == "a") * 1.0
    )


def numbered(segments):
    return segments.assign(row=range(100, 100 + len(segments)))


def test_a_second_table_serves_the_partition_until_it_is_left_out(segments):
    frame = numbered(segments)
    raw = frame[["row", "segment"]].sample(frac=1, random_state=0)
    app = with_scores(scaled(frame))
    app = go(app, "pages/data.py")
    app = calm(upload(app, f"data_{RAW_TABLE}", "raw.csv", raw))
    assert any("1 raw column of 'raw.csv' joined by 'row'" in each.value for each in app.info)
    ignored = app.multiselect(key="role_ignore").value
    assert set(ignored) == {"size", "feature", "flag_a"}
    assert app.selectbox(key="raw_key").value is None
    app = calm(go(app, "pages/partition.py"))  # label and scores are those of before
    app.slider(key="setting_max_depth").set_value(1).run()
    assert sorted(table_with(calm(app), "rule")["rule"]) == ["segment is a", "segment is b"]

    app = go(app, "pages/data.py")
    app = calm(press(app, "Leave raw.csv out"))
    assert app.multiselect(key="role_ignore").value == []
    assert all("raw.csv" not in each.value for each in app.info)


def test_known_scales_are_undone_for_the_partition(segments):
    frame = numbered(segments)
    app = go(with_scores(scaled(frame)), "pages/data.py")
    app = upload(
        app,
        f"data_{UNDONE}",
        "steps.json",
        json.dumps({"feature": {"mean": 50, "scale": 20}}).encode(),
    )
    assert any("'feature (raw)'" in each.value for each in calm(app).info)
    assert app.multiselect(key="role_ignore").value == ["feature"]


def test_a_second_table_that_cannot_be_joined_replaces_nothing(segments):
    app = go(with_scores(scaled(numbered(segments))), "pages/data.py")
    app = upload(app, f"data_{RAW_TABLE}", "raw.csv", segments[["segment"]].head(5))
    assert "'raw.csv' has 5 rows, and the table has 2,400 rows" in app.error[0].value
    assert any("Nothing was replaced" in each for each in said(app.caption))
