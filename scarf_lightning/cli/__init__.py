"""The commands and their counterparts in Python, and what a terminal shows of a run."""
