# SPDX-License-Identifier: MIT
"""`uncork report`: one page that needs nothing else, that nothing a result says can break, and that
works without scripts."""

from __future__ import annotations

import html.parser
import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from result_make import Recipe, recipe_nodelay, recipe_sizes, result_write
from sessions_make import recipe_sessions, sessions_write

from answers import NODELAY, emulated, golden_check, matrix_of, page_body, refused, uncork
from suite.commands.compare import baseline_comparisons, forest_drawn
from suite.decide.claims import claims_decide
from suite.decide.comparison.build import compare_baseline
from suite.decide.summary import summary_build
from suite.observe.metrics import METRICS
from suite.observe.selection import layout_choose
from suite.present.pictures.parts import COLOURS, Drawing
from suite.present.pictures.plot import drawings_make
from suite.present.report.drawings import RenderedDrawing, figure_element
from suite.present.report.page import result_page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
with_chromium = pytest.mark.skipif(not CHROMIUM,
                                   reason="chromium is not installed: no page is opened")
SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><title>Gnuplot</title>{}</svg>'


class Parts(html.parser.HTMLParser):
    """The elements and attributes of a page, and what it says outside style and scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str]] = []
        self.said: list[str] = []
        self.inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.inside = tag
        self.attributes += [(name, value or "") for name, value in attributes]

    def handle_data(self, data: str) -> None:
        if self.inside not in ("style", "script"):
            self.said.append(data)


def page_of(folder: Path, *drawn: RenderedDrawing) -> str:
    """The page of a result with these pictures."""
    matrix = matrix_of(folder)
    asked = matrix.result.scenario.table
    layout = layout_choose(matrix, asked)
    summary = summary_build(matrix, layout.metrics, asked.gain, layout.best)
    return result_page(summary, layout, claims_decide(matrix),
                       compare_baseline(matrix, summary.metrics[:1]),
                       [["run", "nodelay"]], drawn)


def group(number: int, colour: str, panel: str = "") -> str:
    """A plot as gnuplot writes it, which begins with the colour of the plot before."""
    return (f'<g id="gnuplot_plot_{number}{panel}"><g stroke="{COLOURS[5]}"></g>'
            f'<g><path stroke="{colour}" d="M0,0"/></g></g>')


def drawn_of(names: Sequence[str], *groups: str) -> RenderedDrawing:
    """A picture with series of these names, of which the eighth has the colour of the first."""
    drawing = Drawing("picture", "curve", "1 2\n", {
        "names": list(names), "colours": [COLOURS[place % 7] for place in range(len(names))]})
    return RenderedDrawing(drawing, SVG.format("".join(groups)), "as text\n")


def classes_of(drawn: RenderedDrawing) -> list[str]:
    """The series of each plot in order; empty for those of none."""
    figure = figure_element(drawn)
    return [part.get("class", "") for part in figure.iter("g")
            if "gnuplot_plot" in part.get("id", "")]


def test_the_body_of_the_page_of_a_stored_result_is_the_golden_one() -> None:
    page = page_of(NODELAY, drawn_of(["nodelay", "cork"], group(1, "#0072b2"), group(2, "#d55e00")))
    golden_check("report.html", page_body(page.replace(str(NODELAY), "RESULTS")))


def test_the_page_has_every_figure_of_the_table_and_every_verdict() -> None:
    said = " ".join(Parts(page_of(NODELAY)).said)
    table = uncork("table", NODELAY).stdout
    for number in re.findall(r"\d+\.\d+x?", table):
        assert number in said
    for claim in matrix_of(NODELAY).result.scenario.claims:
        assert claim.says in said


def test_the_page_loads_nothing() -> None:
    page = page_of(NODELAY, drawn_of(["a", "b"], group(1, "#0072b2")))
    for name, value in Parts(page).attributes:
        assert name != "src" and not value.startswith(("http:", "https:", "//")), (name, value)
    assert "default-src 'none'" in page and "@import" not in page


def test_what_a_result_says_stays_text(tmp_path: Path) -> None:
    folder = result_write(recipe_nodelay(), tmp_path / "<b>&amp;")
    path = folder / "scenario.toml"
    path.write_text(path.read_text().replace("What do small writes cost",
                                             "<script>alert(1)</script> & </style>"))
    page = page_of(folder)
    assert Parts(page).tags["script"] == 1 and "alert(1)</script> & " not in page
    assert "<script>alert(1)</script> & </style>" in " ".join(Parts(page).said)


def test_a_series_is_told_by_its_colour_in_every_panel() -> None:
    drawn = drawn_of(["nodelay", "cork"], group(1, "#0072b2", "a"),
                     group(2, "rgb(213,  94,   0)", "a"),
                     group(3, "#888888", "a"), group(1, "#d55e00", "b"))
    assert classes_of(drawn) == ["s1", "s2", "", "s2"]


def test_of_series_with_one_colour_each_has_its_turn() -> None:
    drawn = drawn_of([str(number) for number in range(9)],
                     *(group(number, "#0072b2") for number in (1, 2, 3, 4)))
    assert classes_of(drawn) == ["s1", "s8", "s1", "s8"]


def test_series_have_the_names_of_the_picture_and_a_picture_without_series_has_none() -> None:
    drawn = drawn_of(["it's, [one]", "b"])
    assert drawn.drawing.series == ["it's, [one]", "b"]
    assert "array names[2] = ['it''s, [one]', 'b']\n" in drawn.drawing.script
    labels = figure_element(drawn).findall("label")
    assert [label.text for label in labels] == ["it's, [one]", "b"]
    assert Drawing("bars", "bars", "", {"bars": [1]}).series == ()


@pytest.mark.parametrize("series", [2, 14])
def test_each_series_of_a_drawn_picture_can_be_switched_off(tmp_path: Path, series: int) -> None:
    folder = result_write(recipe_sizes(series, 5), tmp_path / "sizes")
    done = uncork("report", folder, "-o", tmp_path / "page.html")
    assert done.returncode == 0 and done.stdout == f"{tmp_path / 'page.html'}\n", done.stderr
    page = (tmp_path / "page.html").read_text()
    (drawing, *_) = drawings_make(matrix_of(folder))
    assert len(drawing.series) == series
    plots = Counter(value for name, value in Parts(page).attributes if name == "class"
                    and re.fullmatch(r"s\d+", value))
    # A box, points and whiskers; all but the baseline have a line and points of ratios too.
    assert len(plots) == series and sorted(plots.values())[1] >= 5, plots
    assert not list(tmp_path.glob("*.new"))


def test_without_a_name_the_page_is_in_the_folder(tmp_path: Path) -> None:
    folder = result_write(recipe_nodelay(), tmp_path / "nodelay")
    assert uncork("report", folder).stdout == f"{folder}/report.html\n"


def test_a_result_in_which_every_run_failed_has_a_page(tmp_path: Path) -> None:
    recipe = Recipe("failed", {"workload": "request", "message": "15x2"},
                    {"write": ["nodelay", "cork"]}, 2,
                    "write=nodelay", lambda words, *_: {"schema": 1, "status": "failed",
                                                        "reason": "<gone>", "words": words})
    matrix = matrix_of(result_write(recipe, tmp_path))
    (drawn,) = forest_drawn(baseline_comparisons(matrix, (METRICS["time_per_message"],)))
    assert "failed" in drawn.text
    assert "<gone>" in " ".join(Parts(page_of(matrix.result.folder, drawn)).said)


def test_the_page_of_an_emulated_machine_compares_what_was_counted() -> None:
    matrix = matrix_of(NODELAY)
    slow = emulated(matrix)
    time, count = METRICS["time_per_message"], METRICS["segments_per_message"]
    assert [one.metrics for one in baseline_comparisons(slow, (time, count))] == [(count,)] * 5
    assert baseline_comparisons(slow, (time,)) == []
    assert baseline_comparisons(matrix, (time, count))[0].metrics == (time,)


def test_of_two_results_the_page_says_first_what_differs(tmp_path: Path) -> None:
    base, new = (sessions_write(recipe_sessions(name, [1.0]), tmp_path / name, 1)
                 for name in ("r1", "r2"))
    done = uncork("report", base, new)
    assert done.returncode == 0 and done.stdout == f"{new}/report.html\n", done.stderr
    said = " ".join(Parts((new / "report.html").read_text()).said)
    assert said.index("boot r1-boot -> r2-boot") < said.index("n=1 session a side")


def test_what_is_refused_is_noted_on_a_page_that_has_all_the_rest(tmp_path: Path) -> None:
    folder = result_write(recipe_nodelay(), tmp_path / "nodelay")
    path = folder / "scenario.toml"
    path.write_text(path.read_text() + '\n[[picture]]\nkind = "bars"\nmetric = "no_such_metric"\n')
    plan = json.loads((folder / "plan.json").read_text())
    (folder / "plan.json").write_text(json.dumps(plan | {"baseline": "write=absent"}))
    assert uncork("report", folder).returncode == 0
    said = " ".join(Parts((folder / "report.html").read_text()).said)
    assert said.count("left out: ") == 2 and "no_such_metric" in said and "write=absent" in said
    assert "every cell by hand" in said


def test_more_than_two_results_are_no_page() -> None:
    assert refused("report", NODELAY, NODELAY,
                   NODELAY) == f'"{NODELAY}": there are two results, not more'


def test_a_page_has_the_name_of_a_file(tmp_path: Path) -> None:
    assert refused("report", NODELAY, "-o", tmp_path, status=1) == (
        f"cannot write {tmp_path}: it is a link, a folder or a special file; "
        "name a regular file or a new one")


def opened(page: str, folder: Path, script: str, size: str = "800,600") -> str:
    """What a script of the test, at the end of the page, leaves in its title; size: of the window.
    """
    file = folder / "page.html"
    file.write_text(page.replace("</body>", f"<script>{script}</script></body>"))
    done = subprocess.run(
        [CHROMIUM or "", "--headless", "--no-sandbox", "--disable-gpu",
         f"--window-size={size}",
         f"--user-data-dir={folder / 'profile'}",
         "--dump-dom", file.as_uri()], capture_output=True, text=True, timeout=60)
    found = re.search(r"<title>(.*?)</title>", done.stdout, re.DOTALL)
    assert found, done.stderr
    return found[1]


@with_chromium
def test_a_browser_sorts_by_numbers_and_hides_a_series(tmp_path: Path) -> None:
    page = page_of(NODELAY, drawn_of(["nodelay", "cork"], group(1, "#0072b2"), group(2, "#d55e00")))
    script = ("const heads = document.querySelectorAll('#table thead tr:last-child th');"
              "const column = () => [...document.querySelectorAll('#table tbody "
              "tr')].map(r => r.cells[2].firstChild.nodeValue);"
              "heads[2].firstChild.click(); const up = column().slice(0, 2); "
              "heads[2].firstChild.click();"
              "document.querySelector('input.s1').click();"
              "const shown = n => getComputedStyle(document.querySelector(`svg .s${n}`)).display;"
              "document.title = [...up, column()[0], shown(1), shown(2)].join(' ');")
    first, second, last, hidden, shown = opened(page, tmp_path, script).split()
    assert float(first) <= float(second) < float(last) and (hidden, shown) == ("none", "inline")


@with_chromium
@pytest.mark.parametrize("size, media", [("400,900", "print"), ("1030,700", "all")],
                         ids=["narrow", "printed"])
def test_nothing_is_wider_than_a_narrow_window_or_a_sheet(tmp_path: Path, size: str,
                                                          media: str) -> None:
    page = page_of(NODELAY).replace("@media print", f"@media {media}")
    inner = "document.querySelectorAll('table')" if media == "all" else "[]"
    script = (f"const room = document.documentElement.clientWidth; const wide = [...{inner}]"
              ".filter(one => one.getBoundingClientRect().right > room).length;"
              "document.title = [document.documentElement.scrollWidth <= room, wide].join(' ');")
    assert opened(page, tmp_path, script, size) == "true 0"


@with_chromium
@pytest.mark.skipif(not shutil.which("pdftotext"), reason="pdftotext is not installed")
def test_every_sheet_of_a_long_table_has_its_heads_and_no_word_is_broken(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(page_of(result_write(recipe_sizes(6, 15, rounds=1), tmp_path)))
    subprocess.run([CHROMIUM or "", "--headless", "--no-sandbox", "--disable-gpu",
                    f"--user-data-dir={tmp_path / 'profile'}", "--no-pdf-header-footer",
                    f"--print-to-pdf={tmp_path / 'page.pdf'}", file.as_uri()],
                   capture_output=True, timeout=60, check=True)
    text = subprocess.run(["pdftotext", "-layout", tmp_path / "page.pdf", "-"],
                          capture_output=True, text=True, check=True).stdout
    sheets = [sheet for sheet in text.split("\f") if re.search(r"^ *\d+[KM]? +nagle ", sheet, re.M)]
    assert len(sheets) > 1
    for sheet in sheets:
        assert re.search(r"message +write +\S+", sheet), sheet
    assert "\u2195" not in text, "a sheet cannot be sorted"
    assert len(re.findall(r"^ *\d+[KM]? +coalesce ", text, re.M)) == 15, "no name is broken"
