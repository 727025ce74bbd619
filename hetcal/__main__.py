"""``python -m hetcal``."""

import sys

from hetcal.command_line import main

if __name__ == "__main__":
    sys.exit(main())
