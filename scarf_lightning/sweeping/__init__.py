"""From a command line to finished cells: expand, check, skip, launch, report."""
