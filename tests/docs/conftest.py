"""Lets the tests of the documents import what follows a page."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
