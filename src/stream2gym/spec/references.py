"""Files that a GraphML refers to: where they are, reading them, and telling what is wrong with them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from stream2gym.errors import BadInput, Mistake
from stream2gym.spec import published
from stream2gym.spec.draft import Draft
from stream2gym.spec.files import YAML_LIMIT, decode, exists, read_bytes, shown_path
from stream2gym.spec.places import Origin, Place, brief
from stream2gym.spec.published import Part
from stream2gym.spec.xmlgraph import Datum
from stream2gym.spec.yamldoc import Document, read_documents

MOST_PARENTS = 6


class References:
    """Paths stand against the working directory, then the GraphML file's folder, then its parents."""

    def __init__(self, path: Path, cwd: Path, *, tolerant: bool) -> None:
        self.cwd, self.tolerant = cwd, tolerant
        self.shown = shown_path(path, cwd)
        self.roots = list(dict.fromkeys([cwd, path.parent, *list(path.parent.parents)[:MOST_PARENTS]]))
        self.out = Draft("graphml", cwd, files=[path])

    def wrong(self, where: str, what: str, hint: str = "", line: int | None = None) -> None:
        self.out.mistakes.append(Mistake(where, what, hint, self.shown, line))

    def warn(self, where: str, what: str, hint: str = "", line: int | None = None) -> None:
        self.out.warnings.append(Mistake(where, what, hint, self.shown, line))

    def add(self, group: str, made: dict[str, Any], origin: Origin, part: Part | None = None) -> None:
        items = self.out.data[group]
        place: Place = (group, len(items))
        self.out.origins.known[place] = origin
        if part is not None:
            for key in part.lines:
                self.out.origins.known[*place, key] = part.origin(key, origin.where)
        items.append(made)

    def settle_base(self, named: list[str]) -> None:
        """The root folder: the first candidate under which a file that is referred to exists."""
        roots = (root for root in self.roots if any(exists(root / written) for written in named))
        self.out.base = next(roots, self.cwd)

    def find(self, written: str) -> Path | None:
        candidates = (root / written for root in dict.fromkeys([self.cwd, self.out.base, *self.roots]))
        return next((path for path in candidates if exists(path)), None)

    def located(self, written: str) -> str:
        """A path of a data file or program as it stands against the base."""
        found = self.find(written)
        if found is None or exists(self.out.base / written):
            return written
        return os.path.relpath(found, self.out.base) + ("/" if written.endswith("/") else "")

    def text_of(self, datum: Datum | None, key: str, where: str) -> tuple[str, str] | None:
        """The text of a file that the graph names, and how it is called; None when it cannot be had."""
        if datum is None or not datum.text:
            return None
        path = self.find(datum.text)
        if path is None:
            tried = ", ".join(str(root) for root in self.roots[:2])
            what = f"{key} names {brief(datum.text)}, which does not exist"
            if self.tolerant:
                self.warn(where, f"{what}; left out", line=datum.line)
            else:
                self.wrong(where, what, f"looked in {tried}", datum.line)
            return None
        shown = shown_path(path, self.cwd)
        try:
            text = decode(read_bytes(path, YAML_LIMIT, shown), shown)
        except BadInput as error:
            self.out.mistakes += error.mistakes
            return None
        if path not in self.out.files:
            self.out.files.append(path)
        return text, shown

    def documents(self, datum: Datum | None, key: str, where: str) -> tuple[list[Document], str] | None:
        found = self.text_of(datum, key, where)
        if found is None:
            return None
        try:
            documents, mistakes = read_documents(*found)
        except BadInput as error:
            self.out.mistakes += error.mistakes
            return None
        self.out.mistakes += mistakes
        return documents, found[1]

    def part(self, datum: Datum | None, key: str, where: str, table: dict[str, Any]) -> Part | None:
        """The first document of a file, the rest is dropped as published."""
        found = self.documents(datum, key, where)
        if found is None:
            return None
        documents, shown = found
        return published.read_part(documents[0], shown, table) if documents else Part(shown)

    def keep(self, part: Part) -> None:
        """Take over what a part complains of, once, however many hosts share its file."""
        self.out.mistakes += [m for m in part.mistakes if m not in self.out.mistakes]
        self.out.warnings += [w for w in part.warnings if w not in self.out.warnings]
