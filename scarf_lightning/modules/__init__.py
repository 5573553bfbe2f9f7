"""LightningModules that train the networks of a stack of trials at once."""
