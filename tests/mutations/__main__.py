import sys

from tests.mutations.mutants import main

if __name__ == "__main__":
    sys.exit(main())
