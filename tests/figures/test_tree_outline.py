from hetcal.figures.tree import outline, path_to
from hetcal.partitions.nodes import Feature, Node
from hetcal.partitions.partition import Partition

AGE = Feature("age", "number", whole=True)
JOB = Feature("job", "category", ("admin", "retired", "student"))
PARTITION = Partition(
    (AGE, JOB),
    (
        Node(100, 0.3, "age", threshold=30.5, left=1, right=2),
        Node(40, 0.5, "job", categories=("admin", "student"), left=3, right=4),
        Node(60, 1 / 6),
        Node(30, 0.4),
        Node(10, 0.8),
    ),
)


def test_nodes_are_listed_as_a_person_reads_them():
    lines = outline(PARTITION)
    assert [line.rule for line in lines] == [
        "all rows",
        "age ≤ 30",
        "job is admin or student",
        "job is retired",
        "age > 30",
    ]
    assert [line.leaf for line in lines] == [0, -1, 1, 2, 3]
    assert [line.depth for line in lines] == [0, 1, 2, 2, 1]
    assert [line.rows for line in lines] == [100, 40, 30, 10, 60]


def test_a_leaf_knows_its_whole_path():
    assert outline(PARTITION)[2].full_rule == "age ≤ 30 and job is admin or student"


def test_a_later_split_does_not_name_categories_that_went_elsewhere():
    nodes = (
        Node(9, 0.5, "job", categories=("admin",), left=1, right=2),
        Node(3, 0.5),
        Node(6, 0.5, "job", categories=("retired",), left=3, right=4),
        Node(3, 0.5),
        Node(3, 0.5),
    )
    rules = [line.rule for line in outline(Partition((JOB,), nodes))]
    assert rules[1:] == [
        "job is admin",
        "job is retired or student",
        "job is retired",
        "job is student",
    ]


def test_the_path_leads_from_the_leaf_to_the_root():
    lines = outline(PARTITION)
    assert [line.rule for line in path_to(2, lines)] == ["job is retired", "age ≤ 30", "all rows"]
    assert path_to(None, lines) == path_to(0, lines) == path_to(99, lines) == ()
