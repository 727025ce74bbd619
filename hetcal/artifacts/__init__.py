"""A run as bytes and back: the report, the artifact, the scored table, new rows.

JSON and plain numbers, no pickle; whatever is opened is untrusted. What other systems read is in
`exports`.
"""
