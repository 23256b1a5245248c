"""Run a module of this package: `python -E -P isolated.py MODULE [WORDS]`, as `children` starts each process of ours.

With these options Python puts neither the working folder nor PYTHONPATH on the path of its imports, so that a
repository cannot bring modules of its own. This file is run by its path, because the package itself may have been
found by such a variable: its own folder then comes last, where it stands in the way of no other module.
"""

import os
import runpy
import sys


def main() -> None:
    """Run the module that the first word names as the program, with the other words as its arguments."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - hooks start with it
    if root not in sys.path:
        sys.path.append(root)
    module = sys.argv.pop(1)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
