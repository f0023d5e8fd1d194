"""The models that our speed is judged by, each measured beside other runtimes."""
