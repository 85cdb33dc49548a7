"""``watch``: show a run in the browser, while it goes on or afterwards."""

from __future__ import annotations

import argparse
import os
import time

from stream2gym.cli.arguments import add_run
from stream2gym.errors import BadInput, Mistake

EXAMPLES = """\
examples:
  s2g watch                    # the latest run; one that goes on comes first
  s2g watch RUN --read-only    # nobody can break anything from this page
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EXAMPLES
    add_run(parser, nargs="?")
    add_page_options(parser)
    parser.add_argument("--no-browser", action="store_true", help="print the link only")


def add_page_options(parser: argparse.ArgumentParser) -> None:
    """The options of the page, which ``run --live`` has, too."""
    parser.add_argument("--read-only", action="store_true", help="the page shows the run and can change nothing")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="port of the page (default: any free one)")


def check_port(port: int) -> int:
    """The port of the page; BadInput if it is none."""
    if not 0 <= port <= 65535:
        raise BadInput(Mistake("--port", f"{port} is no port", "1 to 65535, or leave it out"))
    return port


def run(args: argparse.Namespace) -> int:
    from stream2gym.record.folder import find_run
    from stream2gym.web.live_server import can_open_browser, link_lines, open_browser
    from stream2gym.web.serve import ServedPage

    port = check_port(args.port)
    folder = find_run(args.run)
    page = ServedPage(folder, read_only=args.read_only, port=port)
    try:
        for line in link_lines(page.link, os.environ):
            print(line, flush=True)
        print("Ctrl-C ends it.", flush=True)
        if not args.no_browser and can_open_browser(os.environ):
            open_browser(page.link)
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        return 0
    finally:
        page.close()
