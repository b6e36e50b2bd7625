"""Linear algebra and special functions that everything in `workbench.gp` shares."""
