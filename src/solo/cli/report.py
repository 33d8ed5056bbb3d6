"""``solo report``: results as one page."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from solo.cli import Verb
from solo.cli.checks import check_picture_path
from solo.errors import SoloError, check_number


@dataclass(frozen=True)
class Report(Verb):
    """Turn result files into one self-contained page, beside the paper's numbers.

    Takes results of `solo eval`, `solo recon compare --json` and `solo bench --json`,
    from any machine. Several policies of one protocol are shown side by side.
    """

    results: Annotated[Positional[tuple[Path, ...]], arg(metavar="RESULT...")]
    """Result files, or folders that hold one evaluation or several in subfolders."""
    output: Path = Path("report.html")
    """Page to write."""
    title: str = "SOLO evaluation report"
    """Title of the page."""
    max_failures: int = 12
    """Failures per protocol to show with pictures."""

    def run(self) -> dict[str, Any]:
        check_picture_path(self.output, (".html", ".htm"))
        check_number("max_failures", self.max_failures, 0)
        # Unlike `Path.resolve`, it takes a link to itself.
        if os.path.realpath(self.output) in map(os.path.realpath, self.results):
            raise SoloError(
                f"The page {str(self.output)!r} is also a result. Choose another "
                "--output."
            )

        from solo.report.read import read_results

        files, unfinished = read_results(self.results)

        from solo.report.page import write_report

        page = write_report(
            files, self.output, self.title, self.max_failures, unfinished
        )
        size = self.output.stat().st_size
        names = ", ".join(section.title for section in page.sections)
        for folder in page.unfinished:
            print(f"Left out {folder}: it is not finished.")
        print(f"Wrote {self.output}: {names}; {size / 1e3:,.0f} kB")
        return {
            "output": str(self.output),
            "bytes": size,
            "sections": [section.anchor for section in page.sections],
            "figures": page.html.count("<figure"),
            "tables": page.html.count("<table"),
            "results": [
                {"path": str(f.path), "kind": f.result.kind, "sha256": f.sha256}
                for f in page.files
            ],
        }
