"""Results as figures, tables and one HTML page: `python report.py sweeps=quick`, or `results=FOLDER`.

The same as the command `scarf report` and, in Python, `scarf_lightning.report("quick")`. From top to bottom:

1. `scarf_lightning.cli.commands.report` reads the command line.
2. `scarf_lightning.cli.report_command` finds the cells, of a sweep or of a folder, and what the store has of them.
3. `scarf_lightning.reporting.making` draws and counts, and writes the page.
"""

import sys

from scarf_lightning.cli.commands import report

if __name__ == "__main__":
    sys.exit(report())
