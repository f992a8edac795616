"""The workloads are the given ones, made anew on every machine."""

from __future__ import annotations

import importlib.util
import random
from hashlib import sha256
from pathlib import Path
from types import ModuleType

import pytest

from bench.workloads import WORKLOADS, Facts, more_links

GIVEN = Path(__file__).parents[3] / "shared" / "bench" / "workloads.py"
LARGE = {"w1", "w4"}
NAMES = [
    pytest.param(name, marks=pytest.mark.slow if name in LARGE else ()) for name in WORKLOADS
]  # a million facts take seconds to make
FACTS = {
    "w1": "a4a7690109e558f37fe37e2e5a0cc9e491b9373387d43ecd9daecb954ca70af7",
    "w2": "58db9b18fe94eae66bb25fb1f3e08505c49758ddb39ddf7ead9cbc73f4047690",
    "w3_dense": "eefc0c091c8f48c7887f90318060dde4fbc40ff008978c7c90be63ab8a3d9ebb",
    "w3_chain": "50ec1de4e873f3e8d039252b4acfca29f3b694d1c39782b737daea677fe4be6c",
    "w4": "1d4e62b004b2ce6547bb2557490d190fe85069f78010ef0bd0239b087a22311f",
    "w5": "9f3746e89df931cd8dbfb43f9f828f3449ff2ee37cda81a4c08961c991ab3f8a",
    "w6": "94fc0632b4e0855749a0f24684045f84da7ef65dd26c731d6f46ebf37b43e31b",
}


def checksum(facts: Facts) -> str:
    found = sha256()
    for name, rows in facts.items():
        for row in rows:
            found.update(("\t".join((name, *row)) + "\n").encode())
    return found.hexdigest()


def given() -> ModuleType:
    spec = importlib.util.spec_from_file_location("given_workloads", GIVEN)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", NAMES)
def test_the_facts_of_a_workload_never_change(name: str) -> None:
    assert checksum(WORKLOADS[name].facts()) == FACTS[name]


@pytest.mark.skipif(not GIVEN.is_file(), reason="the given workloads are not beside this repository")
@pytest.mark.parametrize("name", NAMES)
def test_a_workload_is_the_given_one(name: str) -> None:
    output, program, make = given().WORKLOADS[name]
    ours = WORKLOADS[name]
    facts, theirs = ours.facts(), make(random.Random(name))
    assert (ours.wanted, ours.program, facts) == (output, program, theirs)
    assert list(facts) == list(theirs)


@pytest.mark.skipif(not GIVEN.is_file(), reason="the given workloads are not beside this repository")
def test_no_given_workload_is_left_out() -> None:
    assert list(WORKLOADS) == list(given().WORKLOADS)


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_part_of_a_workload_is_small_and_complete(name: str) -> None:
    facts = WORKLOADS[name].facts(0.01)
    assert all(facts.values())
    assert sum(map(len, facts.values())) <= 12_000


def test_more_links_join_known_records_and_are_new() -> None:
    facts = WORKLOADS["w2"].facts(0.01)
    ends = {row[0] for row in facts["RecordLink"]} | {row[4] for row in facts["RecordLink"]}
    links = more_links(0.01)
    assert len(set(links)) == 1000
    assert not set(links) & set(facts["RecordLink"])
    assert all(start in ends for start, *_ in links)
