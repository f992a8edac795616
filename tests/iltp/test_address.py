"""Addresses: every form of 060 is read and printed exactly, and nothing else is an address."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.iltp import STDIO, Address, BadAddress, parse_address, remote_address
from tests.golden import load_vectors

GOLDEN = load_vectors("addresses")


@pytest.mark.req("060-001", "060-010")
@pytest.mark.parametrize("case", GOLDEN["accept"], ids=lambda case: case["text"])
def test_a_golden_address_has_its_parts_and_its_transport_text(case: dict[str, Any]) -> None:
    address = parse_address(case["text"])
    parts = (address.scheme, address.host, address.port, address.path)
    assert parts == (case["scheme"], case.get("host"), case.get("port"), case.get("path"))
    assert str(address) == case["transport"]
    assert parse_address(str(address)) == address


@pytest.mark.req("060-001")
@pytest.mark.parametrize("case", GOLDEN["reject"], ids=lambda case: case["text"])
def test_a_golden_text_is_no_address(case: dict[str, Any]) -> None:
    with pytest.raises(BadAddress) as caught:
        parse_address(case["text"])
    assert caught.value.code == "iltp/address"


@pytest.mark.req("060-002")
def test_stdio_stands_alone() -> None:
    assert parse_address("stdio") is STDIO
    with pytest.raises(BadAddress):
        parse_address("stdio:")
    assert (STDIO.host, STDIO.port, STDIO.path) == (None, None, None)


@pytest.mark.req("060-003")
@pytest.mark.parametrize("path", ["/a", "/run/lace/α.sock", "/with space", "/it's", "/a/../b"])
def test_a_unix_path_is_kept_as_it_is(path: str) -> None:
    assert parse_address(f"unix:{path}") == Address("unix", path=path)
    assert str(parse_address(f"unix:{path}")) == f"unix:{path}"


@pytest.mark.req("060-003")
@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "relative",
        "./a",
        "~/a",
        "/a\n",
        "/a\0b",
        "/cafe\u0301",
        "/\udcff",
        "/" + "x" * 1024,
        "/a\x7f",
    ],
)
def test_a_unix_path_is_absolute_and_one_line_of_text(path: str) -> None:
    with pytest.raises(BadAddress):
        parse_address(f"unix:{path}")


@pytest.mark.req("060-004", "060-005", "060-006")
@pytest.mark.parametrize(
    ("scheme", "port", "path"), [("tcp", 4790, None), ("ws", 80, "/interlace"), ("wss", 443, "/interlace")]
)
def test_what_is_left_out_is_that_of_the_scheme(scheme: str, port: int, path: str | None) -> None:
    assert (
        parse_address(f"{scheme}:h")
        == parse_address(f"{scheme}:h:{port}")
        == Address(scheme, "h", port, path)
    )


@pytest.mark.req("060-004")
@pytest.mark.parametrize("path", ["/", "/interlace", "/x"])
def test_tcp_has_no_path(path: str) -> None:
    with pytest.raises(BadAddress):
        parse_address(f"tcp:h:1{path}")


@pytest.mark.req("060-094", "060-097")
def test_tcp_shows_its_port_always_and_websockets_where_it_is_not_the_default() -> None:
    shown = [str(parse_address(text)) for text in ("tcp:h", "ws:h:80", "ws:h:443", "wss:h:443", "wss:h:80")]
    assert shown == [
        "tcp:h:4790",
        "ws:h/interlace",
        "ws:h:443/interlace",
        "wss:h/interlace",
        "wss:h:80/interlace",
    ]


@pytest.mark.req("060-007")
@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "a-b.c",
        "1a.2b",
        "1.2.3.4",
        "xn--bcher-kva.example",
        "[::]",
        "[2001:db8::1]",
        "[::ffff:1.2.3.4]",
    ],
)
def test_a_host_is_a_name_or_ipv4_or_ipv6_in_brackets(host: str) -> None:
    for scheme in ("tcp", "ws", "wss"):
        assert parse_address(f"{scheme}:{host}:7").host == host
    assert parse_address(f"tcp:{host}").bare_host == host.strip("[]")


@pytest.mark.req("060-007")
@pytest.mark.parametrize(
    "host",
    [
        "", "-a", "a-", "a_b", "a..b", ".a", "a.", "bücher", "a b", "user@h", "a\n", "٣", "x" * 254,
        "1.2.3", "1.2.3.256", "01.2.3.4", "1234", "[1.2.3.4]",
        "::1", "[::1", "::1]", "[]", "[fe80::1%eth0]", "[::g]", "[a]", "[::1]x",
    ],
)  # fmt: skip
def test_other_hosts_are_refused(host: str) -> None:
    for scheme in ("tcp", "ws", "wss"):
        with pytest.raises(BadAddress):
            parse_address(f"{scheme}:{host}:7")


@pytest.mark.req("060-007")
@pytest.mark.parametrize(
    "port", ["", "0", "00", "65536", "08", "+8", "-1", " 8", "8 ", "８", "1e3", "8\n", "9" * 5000]
)
def test_a_port_is_a_number_from_1_to_65535_in_one_spelling(port: str) -> None:
    for host in ("h", "[::1]"):
        with pytest.raises(BadAddress):
            parse_address(f"tcp:{host}:{port}")


@pytest.mark.req("060-008")
@pytest.mark.parametrize(
    "rest", ["/", "/other", "/interlace/", "/Interlace", "/interlace?a", "?a", "#a", "/interlace#"]
)
def test_a_websocket_has_one_path_and_no_query(rest: str) -> None:
    for host in ("h", "h:9", "[::1]"):
        with pytest.raises(BadAddress):
            parse_address(f"wss:{host}{rest}")
    assert parse_address("ws:h").path == parse_address("ws:h/interlace").path == "/interlace"


@pytest.mark.req("060-009")
@pytest.mark.parametrize(
    "text", ["ws://h", "wss://h/interlace", "tcp://h:1", "unix:///tmp/x", "ws:h//interlace"]
)
def test_urls_are_no_addresses(text: str) -> None:
    with pytest.raises(BadAddress, match="no URL"):
        parse_address(text)


@pytest.mark.parametrize(
    "text",
    ["Tcp:h", "tcp", "tcp ", " stdio", "stdio\n", "stdio:x", "unix", "udp:h:1", "tcps:h", ":", "file:/x"],
)
def test_other_schemes_are_refused(text: str) -> None:
    with pytest.raises(BadAddress):
        parse_address(text)


@pytest.mark.req("060-097")
def test_the_other_end_of_a_socket_is_shown_with_brackets_and_without_zone() -> None:
    assert str(remote_address("tcp", "fe80::1%eth0", 51000)) == "tcp:[fe80::1]:51000"
    assert str(remote_address("tcp", "127.0.0.1", 51000)) == "tcp:127.0.0.1:51000"
    assert str(remote_address("ws", "10.0.0.1", 80)) == "ws:10.0.0.1/interlace"


@given(st.text(max_size=40) | st.from_regex(r"(tcp|ws|wss|unix):[a-z\[\]:/.0-9-]{0,30}", fullmatch=True))
def test_any_text_is_an_address_that_prints_itself_or_is_refused(text: str) -> None:
    try:
        address = parse_address(text)
    except BadAddress:
        return
    assert parse_address(str(address)) == address
    assert str(parse_address(str(address))) == str(address)
