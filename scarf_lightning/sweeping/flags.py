"""The flags of Hydra's, by what becomes of them here. Free of Hydra, whose import takes a while."""

MODES = ("--multirun", "-m", "--run", "-r")
"""Flags of Hydra's that change nothing: a plain run is a sweep of one cell."""
SHOWING = ("--help", "-h", "--cfg", "-c", "--info", "-i", "--hydra-help", "--shell-completion", "-sc")
"""Flags of Hydra's that show something and train nothing."""
