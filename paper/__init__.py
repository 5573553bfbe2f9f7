"""The study of the paper: its published numbers beside ours. It uses the package; the package knows nothing of it."""
