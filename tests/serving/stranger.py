"""A peer that was written from the documents alone: it shares no line with the side it talks to.

Where both sides of a test come from one source, what both get wrong the same way goes unseen. This one makes
ids, digests, roots and the plan by itself. It has Blobs, wants all there is, and takes nothing on trust.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from blake3 import blake3

Line = tuple[str, ...]
ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~"
RULES = "SelectAdvertised(P,S) :- Advertised(P,S), AdvertisedField(P,S,N,_,V).\nSelectHave(P) :- Have(P)."
RUNTIME = (("ClockSkewSeconds", 1), ("Here", 1), ("Peer", 1), ("StartTAI", 1), ("TickTAI", 1),
           ("Transport", 1), ("TransportEncrypted", 0))  # fmt: skip
FACT = re.compile(r"([A-Za-z][A-Za-z0-9_~-]*)\((|'(?:[^'\\]|\\['\\])*'(?:,'(?:[^'\\]|\\['\\])*')*)\)")
ARGUMENT = re.compile(r"'((?:[^'\\]|\\['\\])*)'")
LIST, NARROW, PARTITION = (f"{each}AdvertisementPartition" for each in ("List", "Narrow", ""))
HELLO = {"HelloExchangePlan", "HelloTAI", "HelloTickInterval", "HelloRecordFormat", "HelloLimit",
         "HelloAllAdvertisedFields"}  # fmt: skip
MARK = "🖧: ".encode()


def b64a(raw: bytes) -> str:
    """Write bytes six bits at a time, the last group filled with zeros."""
    bits = "".join(f"{byte:08b}" for byte in raw)
    return "".join(ALPHABET[int(bits[at : at + 6].ljust(6, "0"), 2)] for at in range(0, len(bits), 6))


def digest(domain: str, *parts: str | bytes) -> bytes:
    """Hash a domain and what follows it."""
    return blake3(b"".join(p if isinstance(p, bytes) else p.encode() for p in (domain, *parts))).digest()


def line(name: str, *arguments: str) -> str:
    """Write a fact; nothing here needs an escape."""
    quoted = ",".join(f"'{each}'" for each in arguments)
    return f"{name}({quoted})\n"


def make_blob(data: bytes) -> tuple[str, bytes]:
    """Make a Blob: its id and its stored bytes."""
    payload = b"Data-Length: %d\n\n%b" % (len(data), data)
    name = f"B.{b64a(digest('', payload))}.H3"
    return name, MARK + name.encode() + b"\n" + payload


def root(digests: Iterable[bytes]) -> str:
    """Compute the root over advertisement record digests, none of which is none."""
    row = [digest("lace-advertisement-leaf/v1", each) for each in sorted(digests)]
    while len(row) & (len(row) - 1):
        row.append(digest("lace-advertisement-empty/v1"))
    while len(row) > 1:
        row = [digest("lace-advertisement-node/v1", *row[at : at + 2]) for at in range(0, len(row), 2)]
    return b64a(row[0])


class Stranger:
    """One exchange as the connecting side, to its fixed point."""

    def __init__(self, stream: Any, blobs: Iterable[bytes], *, bound: int | None = None) -> None:
        """Take part with these; `bound` is for partitions, and how many records stand in one answer."""
        self.stream = stream
        self.records = dict(map(make_blob, blobs))
        self.bound = bound
        self.loops = self.turns = self.narrowed = 0
        self._buffer = b""

    async def run(self) -> None:
        """Meet, exchange until nobody asks for anything, and part."""
        await self._meet()
        while await self._loop():
            pass
        await self.stream.shut()
        assert self._buffer + await self.stream.read() == b""

    # What comes.

    async def _line(self) -> str:
        while b"\n" not in self._buffer:
            self._buffer += await self._more()
        found, self._buffer = self._buffer.split(b"\n", 1)
        return found.decode()

    async def _more(self) -> bytes:
        more: bytes = await self.stream.read()
        assert more, f"the end, after {self._buffer!r}"
        return more

    async def _take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._buffer += await self._more()
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken

    async def _block(self, *names: str) -> list[Line]:
        facts: list[Line] = []
        while text := await self._line():
            found = FACT.fullmatch(text)
            assert found is not None, text
            assert found[1] in names, text
            facts.append((found[1], *ARGUMENT.findall(found[2])))
        return facts

    async def _resource(self, kind: str) -> tuple[str, str]:
        marker, name, said = (await self._line()).split(" ")
        assert (marker, said) == ("🧩:", kind)
        body = []
        while text := await self._line():
            body.append(text)
        return name, "\n".join(body)

    async def _say(self, text: str | bytes) -> None:
        await self.stream.write(text.encode() if isinstance(text, str) else text)

    # Setup and hello.

    async def _meet(self) -> None:
        ours = "R." + b64a(digest("", RULES))
        full = self._origin(0, ours)
        await self._say(f"🪢: iltp/1\n🧩: {ours} lacegram\n{RULES}\n\n")
        await self._say(line("ExchangeOperand", "0", ours, f"Opq_{full}", "selector") + "\n")
        assert await self._line() == "🪢: iltp/1"
        theirs, rules = await self._resource("lacegram")
        assert theirs == "R." + b64a(digest("", rules))
        operand, *nonce = await self._block("ExchangeOperand", "SetupNonce")
        assert operand == ("ExchangeOperand", "1", theirs, f"Opq_{self._origin(1, theirs)}", "selector")
        assert [(each[0], len(each[1])) for each in nonce] in ([], [("SetupNonce", 22)])
        self.source, self.peer = self._labels(full, self._origin(1, theirs))
        transcript = self._transcript(ours, theirs)
        plan = "E." + b64a(digest("lace-exchange-plan/v1", transcript))
        limits = {} if self.bound is None else {
            "max_partition_summaries": 16384, "advertisement_partition_start": 0,
            "max_advertisement_records": self.bound,
        }  # fmt: skip
        await self._say(line("HelloExchangePlan", plan) + line("HelloTAI", "1640995200:000000000"))
        await self._say(line("HelloTickInterval", "10000000000") + line("HelloRecordFormat", "H3"))
        await self._say(line("HelloAllAdvertisedFields"))
        await self._say("".join(line("HelloLimit", name, str(n)) for name, n in limits.items()) + "\n")
        assert await self._resource("exchange-plan") == (plan, transcript)
        hello = await self._block(*HELLO)
        assert {fact[0] for fact in hello} == HELLO
        assert ("HelloExchangePlan", plan) in hello

    @staticmethod
    def _origin(index: int, rules: str) -> str:
        return b64a(digest("lace-opaque-origin/v1", line("OpaqueOrigin", str(index), "selector", rules)[:-1]))

    @staticmethod
    def _labels(*full: str) -> tuple[str, str]:
        at = next(at for at in range(43) if full[0][at] != full[1][at])
        return f"Opq_{full[0][at]}", f"Opq_{full[1][at]}"

    def _transcript(self, *rules: str) -> str:
        operands = list(enumerate(zip(rules, (self.source, self.peer), strict=True)))
        return (
            line("ExchangePlanProfile", "lace-040-exchange-plan-v1")
            + line("ExchangePlanLowering", "standard-v1")
            + "".join(line("ExchangePlanOperand", str(n), "selector", each) for n, (each, _) in operands)
            + "".join(line("ExchangePlanOperandOrigin", str(n), label) for n, (_, label) in operands)
            + line("ExchangePlanRequireAllAdvertisedFields")
            + "".join(line("ExchangePlanRuntime", name, str(arity)) for name, arity in RUNTIME)
        )[:-1]

    # A loop.

    async def _loop(self) -> bool:
        self.loops += 1
        ours = {name: self._advertisement(name, raw, self.source) for name, raw in self.records.items()}
        if self.bound is None:
            await self._say("".join(ours[name] for name in sorted(ours)) + "\n")
            theirs = self._listed(await self._block("Advertised", "AdvertisedField"))
        else:
            theirs = await self._reconcile(ours)
        wanted = sorted(theirs.keys() - ours.keys())
        await self._say("".join(line("MayRequest", name) for name in wanted) + "\n")
        requested = [name for _, name in await self._block("MayRequest")]
        assert set(requested) == ours.keys() - theirs.keys()
        await self._say(b"".join(self.records[name] for name in requested) + b"\n\n")
        for _ in wanted:
            name, raw = await self._record()
            assert self._advertisement(name, raw, self.peer) == theirs[name]
            assert name not in self.records
            self.records[name] = raw
        assert await self._block() == []
        assert await self._block() == []
        return bool(wanted or requested)

    @staticmethod
    def _advertisement(name: str, raw: bytes, source: str) -> str:
        length = re.search(rb"Data-Length: (\d+)", raw)
        assert length is not None
        fields = (("Data-Length", length[1].decode()), ("Type", "B"))
        claims = [line("AdvertisedField", name, source, field, "0", value) for field, value in fields]
        return line("Advertised", name, source) + "".join(claims)

    def _listed(self, facts: list[Line]) -> dict[str, str]:
        found: dict[str, str] = {}
        for fact in facts:
            assert fact[2] == self.peer
            assert (fact[0] == "Advertised") != (fact[1] in found), "once, and before its fields"
            found[fact[1]] = found.get(fact[1], "") + line(*fact)
        assert list(found) == sorted(found), "canonical order"
        return found

    async def _record(self) -> tuple[str, bytes]:
        assert await self._take(len(MARK)) == MARK
        named, size = await self._line(), int((await self._line()).removeprefix("Data-Length: "))
        assert await self._line() == ""
        name, raw = make_blob(await self._take(size))
        assert name == named
        return name, raw

    # Partitions.

    async def _reconcile(self, ours: dict[str, str]) -> dict[str, str]:
        assert self.bound is not None
        await self._say("".join(self._children(ours, "", 0)) + "\n")
        unknown = self._summaries(await self._block(PARTITION), 0)
        theirs: dict[str, str] = {}
        asked = bool(ours or unknown)  # no summaries, no turns
        while asked:
            self.turns += 1
            narrows = [each for each, (count, _) in unknown.items() if count > self.bound]
            lists = [each for each in unknown if each not in narrows]
            asks = [line(NARROW, each) for each in narrows] + [line(LIST, each) for each in lists]
            await self._say("".join(asks) + "\n")
            questions = await self._block(LIST, NARROW)
            await self._say("".join(self._answers(ours, questions)) + "\n")
            answers = await self._block(PARTITION, "Advertised", "AdvertisedField")
            for parent in narrows:
                said = [fact for fact in answers if fact[0] == PARTITION and fact[1][:-1] == parent]
                children = self._summaries(said, len(parent) + 1)
                if children:  # it may be left for the next turn
                    assert sum(count for count, _ in children.values()) == unknown.pop(parent)[0]
                    unknown |= children
            listed = self._listed([fact for fact in answers if fact[0] != PARTITION])
            assert len(listed) <= self.bound
            for prefix in lists:
                held = {name: text for name, text in listed.items() if name[2:].startswith(prefix)}
                if held:
                    assert self._summary(held) == unknown.pop(prefix)
                    theirs |= held
            asked = bool(asks or questions)
        assert not unknown
        return theirs

    @staticmethod
    def _summary(held: dict[str, str]) -> tuple[int, str]:
        return len(held), root(digest("lace-advertisement-record/v1", text) for text in held.values())

    @staticmethod
    def _summaries(facts: list[Line], length: int) -> dict[str, tuple[int, str]]:
        found = {prefix: (int(count), root) for _, prefix, count, root in facts}
        assert len(found) == len(facts)
        assert {len(prefix) for prefix in found} <= {length}
        return found

    def _children(self, ours: dict[str, str], parent: str, length: int) -> list[str]:
        said = []
        for prefix in sorted({name[2 : 2 + length] for name in ours if name[2:].startswith(parent)}):
            held = {name: text for name, text in ours.items() if name[2:].startswith(prefix)}
            count, found = self._summary(held)
            said.append(line(PARTITION, prefix, str(count), found))
        return said

    def _answers(self, ours: dict[str, str], questions: list[Line]) -> list[str]:
        said: list[str] = []
        listed: list[str] = []
        for name, prefix in questions:
            if name == NARROW:
                self.narrowed += 1
                said += self._children(ours, prefix, len(prefix) + 1)
            else:
                listed += [name for name in ours if name[2:].startswith(prefix)]
        assert self.bound is not None
        assert len(listed) <= self.bound
        return said + [ours[name] for name in sorted(listed)]
