"""Sources of the documentation, and the script that writes the table of operators."""
