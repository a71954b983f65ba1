# SPDX-License-Identifier: MIT
"""The text of a mail as its reader sees it: MIME transfer encodings, character sets and
format=flowed are undone by the standard library. Pure."""

from __future__ import annotations

from email import policy
from email.message import EmailMessage
from email.parser import BytesParser

SIGNATURE = "-- "


def flowed_join(text: str, without_space: bool) -> str:
    """The lines of a format=flowed text (RFC 3676) as they were before its sender broke them.

    A line that ends with a space goes on in the next one that is quoted as often. without_space:
    that space was added by the sender (DelSp=yes).
    """
    lines: list[tuple[int, str]] = []
    flows = False  # the last line goes on
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip(">"))
        bare = line[depth:].removeprefix(" ")  # the space was stuffed in
        if flows and lines[-1][0] == depth and bare != SIGNATURE:
            lines[-1] = depth, lines[-1][1] + bare
        else:
            lines.append((depth, bare))
        flows = bare.endswith(" ") and bare != SIGNATURE
        if flows and without_space:
            lines[-1] = depth, lines[-1][1].removesuffix(" ")
    return "\n".join(">" * depth + " " * bool(depth) + bare for depth, bare in lines)


def decoded_text(part: EmailMessage) -> str:
    """The text of one part, decoded; what its character set cannot say is replaced."""
    try:
        text = part.get_content()
    except LookupError:  # an unknown character set
        payload = part.get_payload(decode=True)
        text = payload.decode("utf-8", "replace") if isinstance(payload, bytes) else ""
    declared = part["Content-Type"].params if "Content-Type" in part else {}
    if declared.get("format", "").lower() == "flowed":
        return flowed_join(text, declared.get("delsp", "").lower() == "yes")
    return str(text)


def mail_text(data: bytes) -> str:
    """Every text of a mail, one after the other; what is no mail is read as UTF-8."""
    mail = BytesParser(policy=policy.default).parsebytes(data)
    if not any(header in mail for header in ("Content-Type", "Content-Transfer-Encoding")):
        return data.decode("utf-8", "replace")
    return "\n".join(decoded_text(part) for part in mail.walk()
                     if part.get_content_maintype() == "text")
