"""Several people at once: ``python -m tests.browser.many_users [users] [minutes]``.

Each has a table of its own, in a browser context of its own, and goes from the upload to the
download again and again; every other one lets hetcal choose the scheme, which is work beside the
pages. Every number and every download has to be that of the same table alone.
Printed are the rounds, and the memory of the server before, at most, and after all have left: both
times once one person more has come and gone, as Streamlit forgets old sessions when one leaves.
"""

import asyncio
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Page, TimeoutError, async_playwright

from hetcal import Roles, Settings, make_table, run, scores_from_column
from hetcal.artifacts.report import scored_table, table_bytes
from hetcal.data.demo import toy_table
from hetcal.data.reading import from_path
from hetcal.data.table import ALL_ROWS
from tests.browser.server import Server, serve
from tests.browser.visitor import FLAGS, PATIENCE
from tests.chromium import provide_chromium

ROWS = 3_000
LEAVE = 90  # seconds; the server may forget those who have left after 60, a busy one later


@dataclass(frozen=True)
class Person:
    """A table, and what it gives when nobody else is there."""

    table: Path
    partition: str
    before: str
    after: str
    scored: bytes


def person(directory: Path, number: int, rows: int = ROWS) -> Person:
    """Write a table, and run hetcal on it without the app."""
    path = directory / f"rows{number}.csv"
    toy_table(rows + 100 * number, seed=number).to_csv(path, index=False)
    source = from_path(path)
    roles = Roles(label="y", positive="1", split="split", score="score")
    table = make_table(source.frame, roles, source.digest)
    scores = scores_from_column(table.frame["score"], "logit")
    partition = "tree" if number % 2 else "auto"
    finished = run(table, scores, Settings(partition=partition))
    lift = finished.evaluation.lift
    scored = table_bytes(scored_table(finished, ALL_ROWS), "scored.csv")
    return Person(path, partition, f"{lift.before:.4f}", f"{lift.after:.4f}", scored)


async def one_round(page: Page, address: str, one: Person) -> None:
    """Go from the upload to the download, and compare all that is seen."""
    await page.goto(f"{address}/data")
    uploader = page.get_by_test_id("stFileUploader").filter(has_text="Table (CSV")
    await uploader.locator("input[type=file]").set_input_files(one.table)
    await page.get_by_role("heading", name=one.table.name).wait_for()
    await _walk(page, "Partition")
    if one.partition == "tree":
        await page.get_by_role("combobox", name="Partition", exact=True).click()
        await page.get_by_role("option", name="Algorithm 1: one tree", exact=True).click()
        await _settled(page)
    await _walk(page, "Results")
    for label, expected in (("AUC before", one.before), ("AUC after", one.after)):
        card = page.get_by_test_id("stMetric").filter(has_text=label)
        found = await card.get_by_test_id("stMetricValue").inner_text()
        assert found == expected, f"{one.table.name}: {label} is {found}, not {expected}"
    await _walk(page, "Export")
    await page.get_by_role("button", name=f"{one.table.name} · y").wait_for()
    async with page.expect_download() as started:
        await page.get_by_role("button", name="scored.csv", exact=True).click()
    download = await started.value
    content = await asyncio.to_thread(Path(await download.path()).read_bytes)
    assert content == one.scored, f"{one.table.name}: the download is another"
    assert await page.get_by_test_id("stException").count() == 0


async def _walk(page: Page, name: str) -> None:
    await page.get_by_test_id("stSidebar").get_by_role("link", name=name, exact=True).click()
    await page.get_by_role("heading", name=name, exact=True, level=1).wait_for()
    await _settled(page)


async def _settled(page: Page) -> None:
    await page.wait_for_timeout(200)
    await page.locator('[data-test-script-state="notRunning"]').wait_for()


async def use(server: Server, people: list[Person], seconds: float) -> tuple[int, int]:
    """Let all go on for so long, each at least one round; return rounds and the most memory."""
    latest, rounds, most = time.monotonic() + seconds, 0, 0

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=provide_chromium(), args=FLAGS)

        async def go_on(one: Person) -> None:
            nonlocal rounds, most
            context = await browser.new_context(accept_downloads=True)
            page = await context.new_page()
            page.set_default_timeout(2 * PATIENCE)
            while True:
                try:
                    await one_round(page, server.address, one)
                except TimeoutError as error:
                    seen = await page.get_by_test_id("stApp").inner_text()
                    raise AssertionError(
                        f"{one.table.name} waits at {page.url}:\n{seen}"
                    ) from error
                rounds, most = rounds + 1, max(most, memory_of(server.pid))
                if time.monotonic() > latest:
                    break
            await context.close()

        await asyncio.gather(*map(go_on, people))
        await browser.close()
    return rounds, most


def memory_of(process: int) -> int:
    """Return the resident memory of a process in MB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return int(next(each for each in lines if each.startswith("VmRSS")).split()[1]) // 1024


def memory_of_one(server: Server, one: Person) -> int:
    """Return the memory of the server once all have left and one person has come and gone."""
    time.sleep(LEAVE)
    asyncio.run(use(server, [one], 0))
    return memory_of(server.pid)


def main(users: int, minutes: float) -> None:
    """Print what the people have seen, and the memory of the server."""
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        people = [person(directory, number) for number in range(users)]
        with serve(directory) as server:
            asyncio.run(use(server, people[:1], 0))  # what is loaded once does not count
            begin = memory_of_one(server, people[0])
            rounds, most = asyncio.run(use(server, people, 60 * minutes))
            end = memory_of_one(server, people[0])
            assert server.tracebacks == "", server.tracebacks
    sys.stdout.write(
        f"{users} users, {rounds} rounds, no error, every number and download as when alone\n"
        f"memory of the server: {begin} MB, at most {most} MB, {end} MB after all have left "
        f"({end / begin - 1:+.0%})\n"
    )


if __name__ == "__main__":
    given = [float(each) for each in sys.argv[1:]]
    main(int(given[0]) if given else 8, given[1] if len(given) > 1 else 5.0)
