"""From the user's choices to results: `Flow` names every result that follows from a workspace.

`compute` makes the calls into hetcal, and `cache` keeps what they return for one session. Nothing
here draws; `hetcal.store.keys` says which results a changed setting touches.
"""
