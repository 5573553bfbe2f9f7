"""The second edition of the workbench's own study: the comparisons, the figures and the page that are made of its
trials."""
