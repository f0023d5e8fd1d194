"""What the documentation promises: its code runs, its lists are complete."""
