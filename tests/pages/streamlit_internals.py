"""The private parts of Streamlit that page tests use, all of them; the pages use none.

`AppTest` gives every session one name, ends none, selects no row of a table and no point of a
chart, reads the names of all installed packages for every session, and the address of the server
can only be read in public.
"""

import json
from functools import cache

from streamlit import config
from streamlit.components.v2 import manifest_scanner
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.runtime.caching import cache_resource_api
from streamlit.testing.v1.local_script_runner import LocalScriptRunner

# The installed packages stay the same while tests run: look once for components among them.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)


def name_sessions(name, monkeypatch):
    """Say whose session the next runs are."""
    owner = property(lambda runner: name, lambda runner, value: None)
    monkeypatch.setattr(LocalScriptRunner, "_session_id", owner, raising=False)


def end_session(name):
    """Release what a session kept, as the server does when it ends."""
    cache_resource_api.clear_session_cache(name)


def select(app, widget, selection):
    """Select in a table or a chart, and run the page."""
    states = app._tree.get_widget_states()
    states.widgets.append(WidgetState(id=widget, string_value=json.dumps({"selection": selection})))
    return app._run(states)


def serve_at(address):
    """Set the address that the server listens on."""
    config.set_option("server.address", address)
