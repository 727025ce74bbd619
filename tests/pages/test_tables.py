"""Tables: what they write for numbers that have no plain form."""

import pandas as pd
import pyarrow as pa
from streamlit.testing.v1 import AppTest


def drawn(table, columns):
    """The proto of a table that `draw_table` drew with the columns of that name."""

    def page(table, columns):
        from pages.shared import tables
        from pages.shared.widgets import draw_table

        draw_table(table, getattr(tables, columns))

    app = AppTest.from_function(page, kwargs={"table": table, "columns": columns}).run()
    assert not app.exception
    return app.dataframe[0].proto


def written(proto):
    """The texts of the cells."""
    return pa.ipc.open_stream(proto.arrow_data.styler.display_values).read_pandas()


def test_a_p_value_too_small_for_a_number_is_not_written_as_zero():
    table = pd.DataFrame({"class": ["a", "b", "c"], "p": [0.0, 0.0312, float("nan")]})
    assert written(drawn(table, "CLASSES"))["p"].tolist() == ["< 1e-300", "0.031", "–"]
