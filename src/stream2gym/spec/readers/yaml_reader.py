"""Reads an experiment from one YAML file into a draft. Unknown keys are found later, by the model."""

from __future__ import annotations

from pathlib import Path

from stream2gym.errors import BadInput, Mistake
from stream2gym.spec.findings import brief
from stream2gym.spec.readers.draft import Draft
from stream2gym.spec.readers.user_files import YAML_LIMIT, decode, read_bytes
from stream2gym.spec.readers.yaml_documents import read_documents


def read_yaml(path: Path, shown: str, *, only_spark: bool = False) -> Draft:
    """Read an experiment file. The draft holds its data, its origins and the mistakes of the YAML text.

    ``shown`` is the path as messages show it. ``only_spark`` drops the topics.
    """
    documents, mistakes = read_documents(decode(read_bytes(path, YAML_LIMIT, shown), shown), shown)
    draft = Draft("yaml", path.parent, files=[path], mistakes=mistakes)
    if not documents or documents[0].data is None:
        raise BadInput(Mistake("", "is empty", "begin with 's2g: 1'", file=shown))
    if len(documents) > 1:
        line = documents[1].origins.at(())[0].line
        draft.mistakes.append(Mistake("", "holds more than one document", "remove the '---'", shown, line))
    data = documents[0].data
    if not isinstance(data, dict):
        raise BadInput([*mistakes, Mistake("", f"{brief(data)} is not an experiment", "begin with 's2g: 1'", shown)])
    draft.data = {key: value for key, value in data.items() if value is not None}
    draft.origins = documents[0].origins
    if "s2g" not in draft.data:
        draft.mistakes.append(Mistake("s2g", "the format version is missing", "begin with 's2g: 1'", shown, 1))
    if only_spark:
        draft.data.pop("topics", None)
    return draft
