"""What ``./s2g docs`` does: write the reference, gather the pages and build the documentation site.

    ./s2g docs                      build/docs/site/index.html, which opens without a server
    ./s2g docs --serve              and show it at http://127.0.0.1:8000 until Ctrl-C

The reference is written by the Python of stream2gym from its models. MkDocs builds the site in an environment of its
own. A link that leads nowhere, a page that nobody lists and an anchor that is not there fail the build.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HERE = Path(__file__).resolve().parent
PORT = 8000
_OUTSIDE = re.compile(r"\]\(\.\./([^)#]+)\)")
_TEXTS = {".md", ".py", ".yaml", ".yml", ".json", ".sh"}


def main() -> int:
    parser = argparse.ArgumentParser(prog="./s2g docs", description="build the documentation site")
    parser.add_argument("--mkdocs", metavar="PYTHON", required=True, help=argparse.SUPPRESS)
    parser.add_argument(
        "--out", type=Path, default=ROOT / "build" / "docs", metavar="FOLDER", help="where it is built"
    )
    parser.add_argument("--serve", action="store_true", help="show it in the browser, on this machine only")
    args = parser.parse_args()
    folder = args.out.absolute()
    gather(folder)
    code = build(folder, args.mkdocs)
    if code == 0:
        print(f"{folder / 'site' / 'index.html'}")
        if args.serve:
            serve(folder / "site")
    return code


def gather(folder: Path) -> None:
    """Put all that the site is built from into a folder: pages, images, the reference, the settings."""
    sys.path.insert(0, str(ROOT))
    from website.reference import make_pages

    source = folder / "source"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT / "docs", source)
    (source / "reference").mkdir()
    for name, text in make_pages().items():
        (source / "reference" / name).write_text(text, "utf-8")
    take_files_along(source)
    for name in ("extra.css", "iframe-worker.js"):
        shutil.copyfile(HERE / name, source / name)
    shutil.copyfile(HERE / "mkdocs.yml", folder / "mkdocs.yml")


def take_files_along(source: Path) -> None:
    """Put the files of the clone that pages link to beside the pages, and let the links lead there.

    Texts get a name that browsers show instead of saving it. A link to a file that does not exist stays as it is, and
    fails the build.
    """
    for page in sorted(source.glob("*.md")):
        text = page.read_text("utf-8")
        for path in dict.fromkeys(_OUTSIDE.findall(text)):
            file = (ROOT / path).resolve()
            if not file.is_file() or not file.is_relative_to(ROOT):
                continue
            shown = f"{path}.txt" if file.suffix in _TEXTS else path
            target = source / "files" / shown
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
            text = text.replace(f"](../{path})", f"](files/{shown})")
        page.write_text(text, "utf-8")


def build(folder: Path, python: str) -> int:
    """Build the site. Returns the exit code of MkDocs, and shows what it said where anything is wrong."""
    # Not with --quiet: MkDocs would count no warning, and --strict would let everything pass.
    words = ["-m", "mkdocs", "build", "--strict", "--clean", "--config-file", str(folder / "mkdocs.yml")]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}  # a notice about its successor
    done = subprocess.run([python, "-I", *words], cwd=folder, env=quiet, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stdout + done.stderr, file=sys.stderr)
    return done.returncode


def serve(site: Path) -> None:
    """Serve the site on the loopback address until Ctrl-C."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", PORT), handler) as server:
        print(f"http://127.0.0.1:{PORT}", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    sys.exit(main())
