"""An ablation workbench for self-supervised pre-training on tables."""
