"""Writes docs/reference/python.md and names.md: what there is, by what it is for, and by package.

Rules of this file:
1. A chapter names what belongs to it; words, signatures and attributes come from the source.
2. What is in no chapter is in names.md, where every public name stands under each door that has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from docs.python_source import Member, Name, doors, find, public, tree_of

MADE = "<!-- Made by `make docs` from the code; change the code instead. -->"
INTRO = """
Everything that a program usually needs, by what it is for. [howto/python.md](../howto/python.md) is a program
that runs, and the place to begin. [names.md](names.md) has every public name, package by package,
[errors.md](errors.md) what is raised, and [limits.md](limits.md) the limits.

Behind `**` stands the class that lists the options: `**asked: Asked` means that whatever `Asked` has may be
given by name. Whatever takes a policy takes a path or a `PolicyFile`, an exchange also a `PolicyBook`.
A *reference* is an id, the beginning of one, or `//group//app//name` for the newest record there.
"""
NAMES_INTRO = """
Every public name, package by package, in the order of the floors. [python.md](python.md) has those that a
program usually needs, by what they are for, with all their attributes. What begins with `_`, or is in no
package's `__all__`, may change at any time.
"""
FLOORS = (
    "lace", "lace.porcelain", "lace.text", "lace.signing", "lace.record", "lace.facts", "lace.algebra",
    "lace.datalog", "lace.engines", "lace.policy", "lace.interlace", "lace.iltp", "lace.stores",
    "lace.transports", "lace.drive", "lace.pipeline", "lace.cli",
)  # fmt: skip


class Chapter(NamedTuple):
    """What belongs together."""

    title: str
    about: str
    lines: str
    """Lines of a door and some of its names."""

    def found(self) -> list[Name]:
        """Look the names up."""
        pairs = [line.split(":") for line in self.lines.strip().splitlines()]
        return [find(door.strip(), name) for door, names in pairs for name in names.split()]


LACE_GROUPS = {
    "Make one, open one": "init open open_lake close",
    "Store and get records": "put make put_records get find facts",
    "Look": "ls view rows stat verify store",
    "Many at once": "import_records export_records export_table backup",
    "Take away": "rm forget allow forgotten find_forgotten",
    "Before an exchange": "preview why_send why_not_send rehearse",
    "Exchange": "sync follow interlace serve fetch deliver exchanges",
    "After an exchange": "history exchange why_sent forget_history history_gaps note_exchange kept",
}

CHAPTERS = (
    Chapter(
        "Records and who signed them",
        "A record is a Blob, a Plex or a Seal: bytes that never change, with the hash that names them.",
        """
        lace: make_blob make_plex make_seal parse_record parse_secret Secret
        lace.record: Record Blob Plex Seal RecordReader Accepted Rejected
        lace.porcelain: new_secret Keyring KeyEntry
        """,
    ),
    Chapter(
        "What the verbs of a lace take and return",
        "Options of `lace.put`, `lace.ls` and their kin, and what comes back.",
        """
        lace.porcelain: parse_condition parse_time show_time generate Shape Details Choices TableView
        lace.porcelain: Condition Row Cell ImportReport ImportProgress ExportReport
        lace.stores: Stored Statistics Verification Rotten
        """,
    ),
    Chapter(
        "Facts and rules",
        "Rules read facts, and every answer can be explained. A `Workbench` asks a store; the engine below it"
        " works without one.",
        """
        lace.facts: Fact Predicate facts_of_record parse_fact_line write_fact_line
        lace.porcelain: read_rules read_facts parse_facts Workbench Evaluated Answers RuleProfile RuleFile
        lace.datalog: parse_program check_program compile_program show_proof show_why_not
        lace.datalog: Program Explainer Proof WhyNot Stopped OtherHead Diagnostic
        lace.engines: Database EmbeddedEvaluation EmbeddedResult
        """,
    ),
    Chapter(
        "Policies",
        "What is selected, exposed and held back: read, checked, tried and compared.",
        """
        lace.porcelain: read_policy parse_policy check_policy write_policy find_ready_policy ready_policies
        lace.porcelain: read_cases try_policy diff_policies diff_rehearsals
        lace.porcelain: PolicyFile PolicySection SectionHeader PolicyBook ReadyPolicy CaseOutcome RuleChange
        lace.porcelain: RecordChanges
        """,
    ),
    Chapter(
        "Before an exchange",
        "What would be sent to a peer and asked of it, and what holds the rest back. Nobody is connected to.",
        """
        lace.porcelain: plan_exchange Supposed Preview HeldBack WhySend WhyNotSend Rehearsal PlannedExchange
        lace.policy: Held ExchangePlan
        """,
    ),
    Chapter(
        "An exchange",
        "`lace.sync` and `lace.follow` are for scripts, `async with lace.interlace(…)` and the `follow` below"
        " for programs with an event loop. What happens is told by events, and how it ended by a result.",
        """
        lace.porcelain: outcome_of words_of introduce select_reference follow Backoff
        lace.porcelain: Asked Interlacing ExchangeProgress Standing Outcome Delivery Followed Connected
        lace.porcelain: Disconnected Introduction CaptureWriter
        lace.interlace: InterlaceResult Cause ExchangeLimits
        lace.drive: Observed PlanChanged RecordArrived RecordRejected RecordsAsked RecordsLeaving
        lace.drive: RecordsLeft RoundEnded ExchangeEnded
        lace.transports: connect relay Options Tls
        """,
    ),
    Chapter(
        "Serving",
        "Many peers at once, each under its own terms; [howto/serve.md](../howto/serve.md) has the file.",
        """
        lace.porcelain: arrange read_arrangement parse_served Serving Arrangement Terms PeerGroup Bounds
        lace.porcelain: DayLimits Visitor ServerLog Metrics
        """,
    ),
    Chapter(
        "After an exchange",
        "Who got what, when, and by whose rules.",
        """
        lace.porcelain: WhySent Sending Shown Worth
        lace.drive: ExchangeEntry Account Agreement Passage Way History
        """,
    ),
    Chapter(
        "Lakes",
        "Records that no single machine holds: a folder of Parquet tables that Spark fills and checks."
        " A Spark session that is given is used, and neither stopped nor changed.",
        """
        lace.porcelain: converge_lakes SparkLake LakeAnswers JoinedLake
        lace.pipeline: create_lake open_lake start_session register_format ingest follow erase allow
        lace.pipeline: optimize vacuum fsck Session Frame Lake Snapshot Change IngestReport IngestProgress
        lace.pipeline: FollowReport Erased Optimized Vacuumed Health Finding ConvergeReport ConvergeSide
        lace.pipeline: LakeStore
        """,
    ),
    Chapter(
        "Stores",
        "What a `Lace` stands on; [howto/write-a-store.md](../howto/write-a-store.md) makes another one.",
        """
        lace.stores: Store SqliteStore MemoryStore StoreRecordId Version LogEntry Added Removed
        """,
    ),
)


def render() -> str:
    """Write the page by what things are for."""
    lines = [MADE, "", "# Python", "", INTRO.strip(), "", "- [A lace](#a-lace)"]
    lines += [f"- [{each.title}](#{_anchor(each.title)})" for each in CHAPTERS]
    lines += ["", "## A lace", "", *_lace()]
    for chapter in CHAPTERS:
        lines += [f"## {chapter.title}", "", chapter.about, ""]
        lines += _entries(chapter.found())
    return "\n".join(lines)


def render_names() -> str:
    """Write the page of every public name."""
    lines = [MADE, "", "# Every public name", "", NAMES_INTRO.strip(), ""]
    for door in (*FLOORS, *(each for each in doors() if each not in FLOORS)):
        found = [find(door, name) for name in public(door)]
        if not found:
            continue
        lines += [f"## {door}", "", *_paragraph(_package_words(door)), ""]
        lines += [_line(each) for each in found if not each.is_error]
        if errors := [f"`{each.name}`" for each in found if each.is_error]:
            lines += ["", f"Errors ([errors.md](errors.md)): {', '.join(errors)}."]
        lines.append("")
    return "\n".join(lines)


def _lace() -> Iterator[str]:
    lace = find("lace", "Lace")
    yield from _head(lace)
    members = {each.name: each for each in lace.members}
    grouped = [(title, names.split()) for title, names in LACE_GROUPS.items()]
    told = {name for _, names in grouped for name in names}
    for title, names in (*grouped, ("Besides", [name for name in members if name not in told])):
        if names:
            yield from (f"**{title}**", "")
            for name in names:
                yield from _member(members[name])
            yield ""


def _entries(found: list[Name]) -> Iterator[str]:
    """Write what is no class as a list, and then each class with its attributes."""
    short = [_line(each, f"{each.door}.") for each in found if each.kind != "class"]
    yield from (*short, "") if short else ()
    for each in found:
        if each.kind == "class":
            yield from _head(each)
            above = _above(each)
            known = {member.name for base in above for member in base.members}
            yield from (f"- everything that `{base.door}.{base.name}` has" for base in above)
            for member in each.members:
                yield from _member(member) if member.name not in known else ()
            yield from ("",) if each.members else ()


def _above(name: Name) -> list[Name]:
    """Return the classes of the page that a class has everything of: it is made from them, or fits them."""
    members = {each.name for each in name.members}
    return [
        each
        for each in _page()
        if each.name in name.bases
        or (each.is_port and each != name and members.issuperset(member.name for member in each.members))
    ]


@cache
def _page() -> tuple[Name, ...]:
    found = (find("lace", "Lace"), *(each for chapter in CHAPTERS for each in chapter.found()))
    return tuple(each for each in found if each.kind == "class")


def _head(name: Name) -> Iterator[str]:
    """Write the heading of a class, what it is, and how it is made."""
    yield from (f"### {name.door}.{name.name}", "")
    yield from _prose(name.about)
    if name.signatures:
        yield from (*(f"`{_code(str(each))}`" for each in name.signatures), "")
        yield from _prose(name.making)


def _member(member: Member) -> Iterator[str]:
    """Write a method or an attribute as an item of a list."""
    about = _first(member.about)
    rest = _rest(member.about)
    if not member.signatures:
        type_ = member.type if member.type.startswith("=") else f": {member.type}" if member.type else ""
        code = f"{member.name} {type_}" if type_.startswith("=") else f"{member.name}{type_}"
        yield f"- `{_code(code)}`" + (f": {about}" if about else "")
    else:
        *before, last = [f"`{_code(str(each))}`" for each in member.signatures]
        yield from (f"{'- ' if not number else '  '}{text}\\" for number, text in enumerate(before))
        yield f"{'  ' if before else '- '}{last}" + (f"\\\n  {about}" if about else "")
    yield from (f"  {text}" for text in rest)


def _line(name: Name, before: str = "") -> str:
    """Write one name in one line."""
    if name.kind == "function":
        code = " or ".join(f"`{_code(each.write(before))}`" for each in name.signatures)
    elif name.kind == "value" and name.value:
        code = f"`{before}{name.name} = {_code(name.value)}`"
    else:
        code = f"`{before}{name.name}`"
    about = _first(name.about)
    return f"- {code}" + (f": {about}" if about else "")


def _prose(text: str) -> Iterator[str]:
    """Write a docstring as paragraphs; its examples as examples."""
    for part in text.split("\n\n"):
        if part.lstrip().startswith(">>>"):
            yield from ("```pycon", part, "```", "")
        elif part.strip():
            yield from (*_paragraph(part), "")


def _paragraph(text: str) -> Iterator[str]:
    yield " ".join(text.split())


def _first(text: str) -> str:
    return " ".join(text.split("\n\n")[0].split())


def _rest(text: str) -> list[str]:
    """Return what a docstring says behind its first sentence, without examples."""
    return [" ".join(part.split()) for part in text.split("\n\n")[1:] if ">>>" not in part]


def _package_words(door: str) -> str:
    doc = tree_of(door).body[0]
    text = getattr(getattr(doc, "value", None), "value", "")
    return str(text).split("\n\n")[0]


def _code(text: str) -> str:
    return " ".join(text.split())


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")
