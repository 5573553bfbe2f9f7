"""The sweeper, in the package that Hydra takes sweepers from."""
