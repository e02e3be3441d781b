"""Match rules, written independently of the node from docs/assignment.md: which version a request gets by rollout.routes.

The rules are those of a manifest, as Python objects. Only for regular expressions that Python and RE2 read alike.
"""

import dataclasses
import re


@dataclasses.dataclass
class Sent:
    """A request: its headers as pairs, in the order in which they were sent, and the identity that the node verified."""

    headers: list[tuple[str, str]]
    client: str = ""
    claims: dict | None = None


def cookies(headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    pairs = [pair.strip(" \t") for name, value in headers if name == "cookie" for pair in value.split(";")]
    return [tuple(pair.split("=", 1)) for pair in pairs if "=" in pair]


def text_of(claim) -> str | None:
    if isinstance(claim, bool):
        return "true" if claim else "false"
    return str(claim) if isinstance(claim, str | int) else None


def holds(operator: dict, value: str) -> bool:
    (name, wanted), = operator.items()
    return {"exact": lambda: value == wanted,
            "prefix": lambda: value[:len(wanted)] == wanted,
            "suffix": lambda: len(value) >= len(wanted) and value[len(value) - len(wanted):] == wanted,
            "in": lambda: any(value == each for each in wanted),
            "present": lambda: True,
            "regex": lambda: len(value) <= 256 and re.fullmatch(wanted, value) is not None}[name]()


def claim_holds(operator: dict, claim) -> bool:
    if claim is None:
        return False
    if "present" in operator:
        return True
    if "contains" in operator:
        return isinstance(claim, list) and any(text_of(each) == operator["contains"] for each in claim)
    text = text_of(claim)
    return text is not None and holds(operator, text)


def matches(match: dict, sent: Sent) -> bool:
    conditions = []
    for name, operator in match.get("headers", {}).items():
        conditions.append(any(holds(operator, value) for header, value in sent.headers if header == name.lower()))
    for name, operator in match.get("cookies", {}).items():
        conditions.append(any(holds(operator, value) for cookie, value in cookies(sent.headers) if cookie == name))
    for name, operator in match.get("claims", {}).items():
        conditions.append(claim_holds(operator, (sent.claims or {}).get(name)))
    if "clients" in match:
        conditions.append(sent.client in match["clients"])
    return all(conditions)


def target(routes: list[dict], sent: Sent) -> str | None:
    """Returns "Candidate" or "Stable"; None if no rule matches, so that the weights decide."""
    return next((rule["to"] for rule in routes if matches(rule["match"], sent)), None)
