"""``python -m stream2gym``."""

import sys

from stream2gym.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
