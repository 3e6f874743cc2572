"""Parses a page of changes, and keeps the JSON text of each record exactly as it was sent."""

import json
from collections.abc import Iterator
from typing import Any

_decode = json.JSONDecoder().raw_decode


class _Reader:
    """Reads JSON text step by step. A consumer of `items` or `members` must read each value before it continues."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def next(self) -> str:
        """Moves `at` to the next token, and returns its first character."""
        while self.text[self.at : self.at + 1] in (" ", "\n", "\r", "\t"):
            self.at += 1
        return self.text[self.at : self.at + 1]

    def take(self, character: str) -> None:
        if self.next() != character:
            raise ValueError(f"{character!r} is missing at character {self.at}")
        self.at += 1

    def value(self) -> Any:
        self.next()
        value, self.at = _decode(self.text, self.at)
        return value

    def items(self, opening: str, closing: str) -> Iterator[None]:
        self.take(opening)
        while self.next() != closing:
            yield
            if self.next() != closing:
                self.take(",")
        self.at += 1

    def members(self) -> Iterator[str]:
        for _ in self.items("{", "}"):
            name: str = self.value()
            self.take(":")
            yield name


def read_page(text: str) -> tuple[dict[str, Any], list[str | None]]:
    """Returns the page, and for each of its changes the JSON text of its record, or None.

    Raises ValueError if the text is not JSON, and KeyError or TypeError if it is not a page of changes.
    """
    page: dict[str, Any] = {}
    documents: list[str | None] = []
    reader = _Reader(text)
    for name in reader.members():
        if name != "data":
            page[name] = reader.value()
            continue
        page["data"] = []
        for _ in reader.items("[", "]"):
            change: dict[str, Any] = {}
            texts: dict[str, str] = {}
            for key in reader.members():
                reader.next()
                start = reader.at
                change[key] = reader.value()
                texts[key] = text[start : reader.at]
            page["data"].append(change)
            documents.append(texts.get(str(change.get("type")).partition(".")[0]))
    if reader.next():
        raise ValueError(f"there is more text at character {reader.at}")
    return page, documents
