"""The flags of Hydra's, by what becomes of them here. Free of Hydra, whose import takes a while."""

MODES = ("--multirun", "-m", "--run", "-r")
"""Flags of Hydra's that change nothing: a plain run is a sweep of one cell."""
CONFIG_DIR = ("--config-dir", "-cd")
"""The flag of Hydra's whose value is a folder with options of the user's."""
SHOWING = ("--help", "-h", "--cfg", "-c", "--info", "-i", "--hydra-help", "--shell-completion", "-sc")
"""Flags of Hydra's that show something and train nothing."""
OF_OTHER_CONFIGURATIONS = ("--config-name", "-cn", "--config-path", "-cp")
"""Flags of Hydra's that would compose another configuration than ours."""
FLAGS = (*SHOWING, *OF_OTHER_CONFIGURATIONS, "--resolve", "--package", "-p", "--experimental-rerun")
"""Flags that mean nothing from Python."""
