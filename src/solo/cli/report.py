"""``solo report``: results as one page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from solo.cli.checks import check_at_least, check_picture_path
from solo.errors import SoloError


@dataclass(frozen=True)
class Report:
    """Draw result files as one self-contained page, the paper's numbers beside ours.

    Takes results of `solo eval`, `solo recon compare --json` and `solo bench --json`,
    also of other machines. Several policies of one protocol stand side by side.
    """

    results: Annotated[Positional[tuple[Path, ...]], arg(metavar="RESULT")]
    """Result files, or folders that hold a result.json."""
    output: Path = Path("report.html")
    """Page to write."""
    title: str = "SOLO evaluation report"
    """Title of the page."""
    max_failures: int = 12
    """Failures of each protocol to show with pictures."""
    json: Path | None = None
    """File to write a list of what was drawn to."""

    def run(self) -> dict[str, Any]:
        """Draw.

        Raises:
            SoloError: A file is not a result, or the page cannot be written.
        """
        check_picture_path(self.output, (".html", ".htm"))
        check_at_least("max_failures", self.max_failures, 0)
        if self.output.resolve() in [path.resolve() for path in self.results]:
            raise SoloError(
                f"The page {str(self.output)!r} is also a result. Choose another "
                "--output."
            )

        from solo.report.page import write_report

        page = write_report(self.results, self.output, self.title, self.max_failures)
        size = self.output.stat().st_size
        names = ", ".join(section.title for section in page.sections)
        print(f"Wrote {self.output}: {names}; {size / 1e3:,.0f} kB")
        return {
            "output": str(self.output),
            "bytes": size,
            "sections": [section.anchor for section in page.sections],
            "figures": page.html.count("<figure"),
            "tables": page.html.count("<table"),
            "results": [
                {"path": str(r.path), "kind": r.kind, "sha256": r.sha256}
                for r in page.results
            ],
        }
