from rich.table import Table

from solo.cli import print_table


def test_no_heading_is_cut_on_a_narrow_screen(capsys, monkeypatch):
    headings = [f"heading_number_{i}" for i in range(10)]
    table = Table(*headings)
    table.add_row(*["1.0"] * 10)
    monkeypatch.setenv("COLUMNS", "60")
    for terminal in ("", "1"):  # A pipe, then a terminal.
        monkeypatch.setenv("FORCE_COLOR", terminal)
        print_table(table)
        out = capsys.readouterr().out
        assert all(heading in out for heading in headings)
        assert "…" not in out
