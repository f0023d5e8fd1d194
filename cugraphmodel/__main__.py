"""``python -m cugraphmodel``."""

from cugraphmodel.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
