"""Patterns of sentences that a stranger has to read twice. A few good sentences match; the limits are not zero."""

import dataclasses
import re

from findings import Finding

_ANY = re.compile(
    r"(?:^|[.:;] )(?:Who|Whose|Whoever)\b(?![^.?]*\?)"  # A clause as the subject: "Who asks, gets ...".
    r"|(?:^|[.;] )What (?:is|was|has|it|they|one|a|an|the|no|this|that|does|did|can|cannot|comes?|lies|only|nobody)\b"
    r"(?![^.?]*\?)[^.]*[a-z] (?:is|are|was|were|stays?|goes|gets?|comes?|has|counts?|may|must|can)\b"
    r"|(?:^|[.;] )Of (?!course)"
    r"|\bbut for\b|\bfor ever\b|\bgone? on with\b|\bnot to be had\b|\bput(?:s)? up with\b"
    r"|\b(?:is|are) none\b|\bthere (?:is|are) none\b"
    r"|\b(?:nobody|somebody|anybody)\b"
    r"|\b(?:is|are) no (?!longer\b|more\b)"
)


@dataclasses.dataclass
class Count:
    texts: int = 0
    riddles: int = 0

    @property
    def percent(self):
        return 100 * self.riddles / max(1, self.texts)


def riddle_in(text):
    """Returns the first words that match a pattern, or None."""
    match = _ANY.search(text)
    return match[0].strip() if match else None


def _check(sources, texts, what, count):
    for source in sources:
        for text in texts(source):
            count.texts += 1
            words = riddle_in(text.text)
            if words:
                count.riddles += 1
                yield Finding(
                    source.path,
                    text.line,
                    f'{what} with "{words}": {text.text[:100]}',
                    "write the sentence that you would say to a colleague: subject, verb, object",
                )


def check(sources, limits, pages=()):
    """Yields findings only above the limits: the percentage of comment blocks, and the number of messages (string literals).

    `pages`: other files with texts for users, which count as messages."""
    comments, messages = Count(), Count()
    in_comments = list(_check(sources, lambda source: source.comments, "comment", comments))
    shipped = [source for source in sources if not source.path.startswith("tests/") and not source.is_test]
    in_messages = list(_check(shipped, lambda source: source.messages, "message", messages))
    in_messages += _check(pages, lambda page: page.texts, "message", messages)
    if comments.percent > limits["riddle_comments_percent"]:
        yield from in_comments
    if messages.riddles > limits["riddle_messages"]:
        yield from in_messages
    yield Summary(comments, messages)


@dataclasses.dataclass
class Summary:
    comments: Count
    messages: Count

    def __str__(self):
        return (
            f"{self.comments.riddles} of {self.comments.texts} comment blocks ({self.comments.percent:.1f} %) and "
            f"{self.messages.riddles} of {self.messages.texts} messages match a riddle's pattern"
        )
