"""The fourth edition of the study: its tables, sweeps and trials, and the command that makes its pages."""
