"""``python -m tests.mutation``."""

from __future__ import annotations

import sys

from tests.mutation.job import main

sys.exit(main())
