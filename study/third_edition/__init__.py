"""The third edition of the study: its tables, sweeps, and the command that trains them."""
