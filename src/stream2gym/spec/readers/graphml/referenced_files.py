"""Finds and reads the files that a GraphML file refers to, and collects what is wrong with them in a draft."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from stream2gym.errors import BadInput, Mistake
from stream2gym.spec.findings import DataPath, Origin, brief
from stream2gym.spec.readers.draft import Draft
from stream2gym.spec.readers.graphml import published_keys
from stream2gym.spec.readers.graphml.published_keys import Part, Unread
from stream2gym.spec.readers.graphml.xml_graph import Datum
from stream2gym.spec.readers.user_files import YAML_LIMIT, decode, exists, read_bytes, shown_path
from stream2gym.spec.readers.yaml_documents import Document, read_documents

MOST_PARENTS = 6


class ReferencedFiles:
    """Paths are looked up in the working directory, then in the folder of the GraphML file, then in its parents."""

    def __init__(self, path: Path, cwd: Path, *, tolerant: bool) -> None:
        self.cwd = cwd
        self.tolerant = tolerant
        self.shown = shown_path(path, cwd)
        self.roots = list(dict.fromkeys([cwd, path.parent, *list(path.parent.parents)[:MOST_PARENTS]]))
        self.out = Draft("graphml", cwd, files=[path])

    def wrong(self, where: str, what: str, hint: str = "", line: int | None = None) -> None:
        """Add a mistake of the GraphML file."""
        self.out.mistakes.append(Mistake(where, what, hint, self.shown, line))

    def warn(self, where: str, what: str, hint: str = "", line: int | None = None) -> None:
        """Add a warning about the GraphML file."""
        self.out.warnings.append(Mistake(where, what, hint, self.shown, line))

    def add(self, group: str, made: dict[str, Any], origin: Origin, part: Part | None = None) -> None:
        """Add an item to a section of the draft, with the origins of its keys."""
        items = self.out.data[group]
        path: DataPath = (group, len(items))
        self.out.origins.known[path] = origin
        if part is not None:
            for key in part.lines:
                self.out.origins.known[*path, key] = part.origin(key, origin.where)
        items.append(made)

    def settle_base(self, named: list[str]) -> None:
        """Set the base of relative paths: the first folder in which one of the named files exists."""
        roots = (root for root in self.roots if any(exists(root / written) for written in named))
        self.out.base = next(roots, self.cwd)

    def find(self, written: str) -> Path | None:
        """The path of a file as it exists; None if it does not."""
        candidates = (root / written for root in dict.fromkeys([self.cwd, self.out.base, *self.roots]))
        return next((path for path in candidates if exists(path)), None)

    def located(self, written: str) -> str:
        """The path of a data file or program, relative to the base."""
        found = self.find(written)
        if found is None or exists(self.out.base / written):
            return written
        return os.path.relpath(found, self.out.base) + ("/" if written.endswith("/") else "")

    def text_of(self, datum: Datum | None, key: str, where: str) -> tuple[str, str] | None:
        """The text of a file that the graph names, and its path as messages show it; None if it cannot be read."""
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
        """The documents of a YAML file that the graph names, and its path for messages; None if it cannot be read."""
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

    def part(
        self,
        datum: Datum | None,
        key: str,
        where: str,
        table: dict[str, Any],
        unread: Unread = published_keys.read_all,
    ) -> Part | None:
        """The keys in the first document of a file. Further documents are ignored, as published."""
        found = self.documents(datum, key, where)
        if found is None:
            return None
        documents, shown = found
        return published_keys.read_part(documents[0], shown, table, unread) if documents else Part(shown)

    def keep(self, part: Part) -> None:
        """Take over the mistakes and warnings of a part, once, however many hosts share its file."""
        self.out.mistakes += [m for m in part.mistakes if m not in self.out.mistakes]
        self.out.warnings += [w for w in part.warnings if w not in self.out.warnings]
