"""The signer proof of a hello against the golden vectors."""

from __future__ import annotations

from typing import Any

import pytest

from lace.facts import parse_fact_line
from lace.interlace import canonical_setup, is_proof, make_proof, proof_digest
from lace.signing import parse_secret
from tests.golden import load_vectors

GOLDEN = load_vectors("plan")["hello_proofs"]


@pytest.mark.parametrize("case", GOLDEN, ids=range(len(GOLDEN)))
def test_a_golden_proof_is_made_and_found_good(case: dict[str, Any]) -> None:
    facts = [[parse_fact_line(line) for line in case[f"setup_{n}"].splitlines()] for n in (0, 1)]
    setups = canonical_setup(facts[0]), canonical_setup(reversed(facts[1]))
    digest = proof_digest(case["index"], setups, bytes.fromhex(case["channel_binding_hex"]))
    assert digest.hex() == case["msg32_hex"]
    secret = parse_secret(case["secret"])
    assert secret.verifier == case["signer"]
    assert make_proof(digest, secret, bytes.fromhex(case["aux_hex"])) == case["proof"]
    assert is_proof(digest, case["signer"], case["proof"])


@pytest.mark.parametrize("what", ["index", "setup", "binding", "signer", "proof", "nonsense", "short"])
def test_a_proof_of_something_else_is_none(what: str) -> None:
    case, other = GOLDEN[0], GOLDEN[1]
    setups = case["setup_0"].encode(), case["setup_1"].encode()
    index, binding = case["index"], b""
    signer, proof = case["signer"], case["proof"]
    match what:
        case "index":
            index = 1 - index
        case "setup":
            setups = setups[0], setups[1].replace(b"Nonce('w", b"Nonce('x")
        case "binding":
            binding = b"another channel"
        case "signer":
            signer = other["signer"]
        case "proof":
            proof = other["proof"]
        case "nonsense":
            proof = "no proof at all"
        case "short":
            proof = "00"
    assert not is_proof(proof_digest(index, setups, binding), signer, proof)
