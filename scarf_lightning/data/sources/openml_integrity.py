"""Whether cached OpenML files are the ones that OpenML published, as far as they say it themselves.

The client compares an ARFF file with the description's ``md5_checksum`` when it downloads it, and never again; for
Parquet there is no published checksum. So a cached ARFF file is held to the checksum, and either format to the number
of rows, where the cache has the dataset's ``qualities.xml``.
"""

import hashlib
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError


class DamagedError(Exception):
    """The data are there and cannot be used; the message says of which file what is wrong."""


def check_files(folder: Path) -> None:
    """Read the cached description in a dataset's folder, and hold a cached ARFF file to the checksum in it.

    Raises:
        DamagedError: the description cannot be read, or the data are another file, such as one cut short.
    """
    description, arff = folder / "description.xml", folder / "dataset.arff"
    if not description.exists():
        return
    published = _content(description, "oml:data_set_description").get("oml:md5_checksum")
    if not published or not arff.exists():
        return
    content = arff.read_bytes()
    # The client writes text, whose line ends are others on Windows than in the file that was published.
    versions = (content, content.replace(b"\r\n", b"\n"))
    if published not in [hashlib.md5(version, usedforsecurity=False).hexdigest() for version in versions]:
        raise DamagedError("dataset.arff is not the file whose checksum description.xml gives")


def published_rows(qualities: Path) -> int | None:
    """How many rows the dataset has by its cached qualities; None where they do not say.

    Raises:
        DamagedError: the file cannot be read.
    """
    if not qualities.exists():
        return None
    entries = _content(qualities, "oml:data_qualities").get("oml:quality") or []
    found = {entry.get("oml:name"): entry.get("oml:value") for entry in entries if isinstance(entry, dict)}
    try:
        return int(float(found.get("NumberOfInstances") or "nan"))
    except ValueError:
        return None


def _content(file: Path, root: str) -> dict[str, Any]:
    import xmltodict

    try:
        content = xmltodict.parse(file.read_bytes(), force_list=("oml:quality",)).get(root)
    except (ExpatError, ValueError) as error:  # a ValueError is xmltodict's answer to entities of the file's own
        raise DamagedError(f"{file.name} is not XML as OpenML writes it, {error}") from error
    return content if isinstance(content, dict) else {}
