"""The front door: run, plan and report a sweep, from Python or a command line; and the job that trains cells."""
