"""``python -m hetcal``."""

import sys

from hetcal.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
