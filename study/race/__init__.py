"""The race that chose the practical recipe for few labels: protocol in study/recipe.md."""
