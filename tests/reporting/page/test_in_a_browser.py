"""The page in headless Chromium: a script that is put into a copy of it looks at it from inside."""

import json
import re
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.reporting.cell_results import cells_of_folder, read_results
from scarf_lightning.reporting.making import default_drawings, make_report, write_report
from scarf_lightning.reporting.report_options import ReportOptions
from tests.programs import program
from tests.reporting.store import fill_store

pytestmark = pytest.mark.browser

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")

WATCH = """<script>
window.problems = [];
window.addEventListener("error", (event) => window.problems.push(String(event.message || event.target.src)), true);
document.addEventListener("securitypolicyviolation", (event) => window.problems.push(event.violatedDirective));
for (const name of ["error", "warn"]) console[name] = (...words) => window.problems.push(words.join(" "));
</script>"""

LOOK = """<script>
window.addEventListener("load", () => {
  const texts = (table, column) => [...table.tBodies[0].rows].map((row) => row.cells[column].textContent);
  const sorted = [];
  for (const table of document.querySelectorAll("table")) {
    [...table.tHead.rows[0].cells].forEach((heading, column) => {
      const seen = { numeric: heading.classList.contains("number"), before: texts(table, column) };
      for (const order of ["ascending", "descending"]) {
        heading.querySelector("button").click();
        seen[order] = [...table.tBodies[0].rows].map((row) => row.cells[column].dataset.sort);
        seen[order + "_said"] = heading.getAttribute("aria-sort");
      }
      seen.after = texts(table, column);
      seen.said = table.querySelectorAll("[aria-sort]").length;
      sorted.push(seen);
    });
  }
  const button = document.querySelector("th button");
  button.focus();
  const images = [...document.querySelectorAll(".picture")].map((card) => {
    const drawn = card.querySelector("img").getBoundingClientRect();
    return [drawn.height > 50, drawn.width, card.querySelector("img").alt.length];
  });
  const style = getComputedStyle(document.body);
  const found = {
    problems: window.problems, images, sorted,
    focus: document.activeElement === button,
    wider: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    width: document.documentElement.clientWidth,
    ground: style.backgroundColor, text: style.color,
    pictures: [...document.querySelectorAll(".picture")].map((card) => getComputedStyle(card).backgroundColor),
    inverted: [...document.querySelectorAll(".picture img")].map((image) => getComputedStyle(image).filter !== "none"),
    filtered: (() => {
      const filter = document.querySelector(".filter");
      if (filter === null) return null;
      const rows = [...filter.parentElement.querySelectorAll("tbody tr")];
      filter.value = rows[1].cells[0].textContent;
      filter.dispatchEvent(new Event("input"));
      return [rows.length, rows.filter((row) => !row.hidden).length];
    })(),
  };
  const out = document.createElement("pre");
  out.id = "found";
  out.textContent = JSON.stringify(found);
  document.body.append(out);
});
</script>"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report's page that looks at itself."""
    folder = tmp_path_factory.mktemp("page")
    fill_store(folder / "results", datasets=14, trials=3, pretrains=("none", "scarf", "scarf_ae"))
    results = read_results(cells_of_folder(folder / "results")[0])
    drawings = default_drawings(results)
    report = make_report(results, drawings, ReportOptions(), title="A title", command="python report.py")
    index = write_report(report, folder / "report")
    html = index.read_text(encoding="utf-8")
    index.write_text(html.replace("<head>", f"<head>{WATCH}").replace("</body>", f"{LOOK}</body>"), encoding="utf-8")
    return index


def opened(page: Path, tmp_path: Path, *, width: int = 1280, dark: bool = False) -> dict[str, Any]:
    """What the page saw of itself; Chromium's own words about its console are an error."""
    command = [
        program(*CHROMIUM),
        "--headless=new",
        "--no-sandbox",  # as root, in CI
        "--disable-gpu",
        "--enable-logging=stderr",
        "--virtual-time-budget=10000",
        f"--user-data-dir={tmp_path}",
        f"--window-size={width},900",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        "--dump-dom",
        page.as_uri(),
    ]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert [line for line in ran.stderr.splitlines() if "CONSOLE" in line] == []
    (text,) = re.findall(r'<pre id="found">(.*?)</pre>', ran.stdout, flags=re.DOTALL)
    found: dict[str, Any] = json.loads(unescape(text))
    return found


@pytest.fixture(scope="module")
def seen(page: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return opened(page, tmp_path_factory.mktemp("profile"))


def test_nothing_goes_wrong_and_every_figure_is_there(seen: dict[str, Any], page: Path) -> None:
    assert seen["problems"] == []
    assert len(seen["images"]) == len(list((page.parent / "figures").glob("*.svg"))) > 3
    assert all(complete and width > 0 and alt > 0 for complete, width, alt in seen["images"])
    # A filter hides rows.
    assert seen["filtered"] is not None
    every, left = seen["filtered"]
    assert 0 < left < every


def test_a_click_on_a_heading_sorts_and_headings_are_reached_without_a_mouse(seen: dict[str, Any]) -> None:
    assert seen["focus"]
    assert len(seen["sorted"]) > 10
    for column in seen["sorted"]:
        for order in ("ascending", "descending"):
            assert column[f"{order}_said"] == order
            known = [value for value in column[order] if value != ""]
            assert column[order][: len(known)] == known, "what is missing comes last"
            if column["numeric"]:
                assert known == sorted(known, key=float, reverse=order == "descending")
        assert sorted(column["before"]) == sorted(column["after"])


def test_only_boxes_scroll_sideways_and_dark_is_dark(seen: dict[str, Any], page: Path, tmp_path: Path) -> None:
    narrow = opened(page, tmp_path, width=500)  # the narrowest window that Chromium opens
    dark = opened(page, tmp_path, dark=True)

    assert narrow["width"] <= 500
    assert (seen["wider"], narrow["wider"]) == (0, 0)
    assert (seen["ground"], dark["ground"]) == ("rgb(255, 255, 255)", "rgb(20, 23, 26)")
    assert seen["text"] != dark["text"]
    assert (set(seen["pictures"]), set(dark["pictures"])) == ({"rgb(255, 255, 255)"}, {"rgb(20, 20, 20)"})
    assert all(dark["inverted"])
    assert not any(seen["inverted"])
