"""A partition as an outline: its nodes from top to bottom, with the rule that leads to each."""

from dataclasses import dataclass

from hetcal.partition import Partition
from hetcal.rules import ALL_ROWS, Condition, anything, narrow, paths


@dataclass(frozen=True)
class OutlineLine:
    """One node of the tree as a line of text.

    Parameters
    ----------
    position, parent : int
        Positions of the node and of its parent among the nodes; 0 is the root.
    depth : int
        Splits above the node.
    rows, positive_rate : int, float
        Training rows of the node, and their positive rate.
    rule, full_rule : str
        The condition of the parent's split, shortened if it lists many categories, and in full;
        for a leaf the full rule is the whole path.
    leaf : int
        Id of the leaf; 0 for a split.
    """

    position: int
    parent: int
    depth: int
    rows: int
    positive_rate: float
    rule: str
    full_rule: str
    leaf: int


def outline(partition: Partition) -> tuple[OutlineLine, ...]:
    """List the nodes from the root on, left branch before right."""
    leaves = {leaf.node: leaf for leaf in partition.leaves}
    rules = _edge_rules(partition)
    lines: list[OutlineLine] = []
    waiting = [(0, 0)]
    while waiting:
        position, parent = waiting.pop()
        node, leaf, rule = partition.nodes[position], leaves.get(position), rules.get(position)
        short, full = (rule.words, rule.full_words) if rule else (ALL_ROWS, ALL_ROWS)
        lines.append(
            OutlineLine(
                position,
                parent,
                partition.depths[position],
                node.rows,
                node.positive_rate,
                short,
                leaf.full_rule if leaf else full,
                leaf.id if leaf else 0,
            )
        )
        if node.feature is not None:
            waiting += [(node.right, position), (node.left, position)]
    return tuple(lines)


def path_to(leaf: int | None, lines: tuple[OutlineLine, ...]) -> tuple[OutlineLine, ...]:
    """Return the lines from a leaf up to the root; none if the leaf is not there."""
    at = {line.position: line for line in lines}
    path = [line for line in lines if leaf and line.leaf == leaf]
    while path and path[-1].depth:
        path.append(at[path[-1].parent])
    return tuple(path)


def _edge_rules(partition: Partition) -> dict[int, Condition]:
    """Return the condition of the parent's split for each node but the root."""
    features = {feature.name: feature for feature in partition.features}
    path_of = paths(partition.features, partition.nodes)
    rules = {}
    for position, node in enumerate(partition.nodes):
        if node.feature is None:
            continue
        here = anything(features[node.feature])
        if here.feature.kind == "category":  # do not name what an earlier split sent elsewhere
            here = next((each for each in path_of[position] if each.feature == here.feature), here)
        rules[node.left] = narrow(here, node, left=True)
        rules[node.right] = narrow(here, node, left=False)
    return rules
