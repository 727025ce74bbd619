"""What rows become when they have a leaf, a label and a score.

A cell holds rows of one leaf and one label whose scores lie close together; a row is a cell of
its own, so exact and sketched data take one path. Sketches of parts of the data add up to the
sketch of the whole. Nothing here knows a metric, a table or a model.
"""
