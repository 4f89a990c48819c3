"""The command line: parses, calls a room, prints. It holds no logic and imports nothing heavy until needed."""

from understudy.cli.app import main

__all__ = ["main"]
