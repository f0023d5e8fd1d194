"""Properties that hold for every graph and every order of calls."""
