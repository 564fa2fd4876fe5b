"""`python -m resolver` is `ascend-lock`."""

from resolver.cli import main

main()
