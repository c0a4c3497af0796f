"""NetworkExplorer, MistralClient, MetadefBrowser: what they ask of a cloud (CORE_LIBRARY.md 3)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.host import Host
from vetro.library.natives.network import RouterNotFound
from vetro.library.natives.services import MistralError

EXPLORER = "- $e: new(sys:NetworkExplorer, regionName => R)\n"


def answering(kind: str, answer: Any) -> Host:
    host = Host()
    host.inner.register(kind, lambda args: answer)
    return host


@pytest.mark.parametrize(
    ("call", "query", "answer"),
    [
        ("getDefaultRouter()", {"query": "router"}, "r1"),
        ("getAvailableCidr(r, n)", {"query": "cidr", "router": "r", "network": "n", "version": 4}, "10.0.0.0/24"),
        ("getAvailableCidr(null, n, 6)", {"query": "cidr", "router": None, "network": "n", "version": 6}, None),
        ("getDefaultDns()", {"query": "dns", "version": 4}, ["8.8.8.8"]),
        ("getDefaultDns(ipVersion => 6)", {"query": "dns", "version": 6}, []),
        ("getExternalNetworkIdForRouter(r)", {"query": "external_of_router", "router": "r"}, "x"),
        ("getExternalNetworkIdForNetwork(n)", {"query": "external_of_network", "network": "n"}, None),
        ("listNetworks()", {"query": "networks"}, [{"id": "1"}]),
        ("listSubnetworks()", {"query": "subnets"}, []),
        ("listPorts()", {"query": "ports"}, []),
        ("listNeutronExtensions()", {"query": "extensions"}, [{"alias": "a"}]),
    ],
)
def test_questions_to_the_network_service(call: str, query: dict[str, Any], answer: Any) -> None:
    host = answering("network", answer)
    assert host.run(EXPLORER + f'- Return: !yaql "$e.{call}"') == answer
    assert host.performed("network") == [{"region": "R", **query}]


def test_extensions_are_asked_for_once() -> None:
    host = answering("network", [])
    host.run(EXPLORER + "- $e.listNeutronExtensions()\n- $e.listNeutronExtensions()")
    assert len(host.performed("network")) == 1


def test_without_a_router_there_is_a_key_error() -> None:
    with pytest.raises(RouterNotFound, match="no router for new networks") as caught:
        answering("network", None).run(EXPLORER + "- $e.getDefaultRouter()")
    assert "KeyError" in caught.value.aliases


CLIENT = "- $c: new(sys:MistralClient)\n"


def test_workflows() -> None:
    host = answering("workflow", {"x": 1, "openstack": {}, "__execution": {}, "task": {}})
    assert host.run(CLIENT + '- $c.upload(text)\n- Return: !yaql "$c.run(w, inputs => {a => 1})"') == {"x": 1}
    upload, run = host.performed("workflow")
    assert upload == {"region": None, "query": "upload", "definition": "text"}
    assert run == {
        "region": None, "query": "run", "name": "w", "timeout": 600, "inputs": {"a": 1}, "params": None
    }  # fmt: skip


def test_workflows_that_nobody_waits_for() -> None:
    assert answering("workflow", "id-1").run(CLIENT + '- Return: !yaql "$c.run(w, 0)"') == "id-1"


def test_where_there_is_no_workflow_service() -> None:
    with pytest.raises(MistralError, match="not available here"):
        Host().run(CLIENT + "- $c.run(w)")


def metadata(cache: str) -> list[dict[str, Any]]:
    host = Host()
    host.inner.register(
        "metadef",
        lambda args: [{"namespace": "N1"}, {"namespace": "N2"}] if args["query"] == "namespaces"
        else [{"name": args["namespace"], "properties": {f"tag-{args['namespace']}": {}}}, {"name": "none"}],
    )  # fmt: skip
    found = host.run(
        f"- $b: new(sys:MetadefBrowser, cache => {cache})\n"
        "- Return: !yaql \"[$b.canBeAppliedTo('tag-N2', T), $b.canBeAppliedTo('tag-N3', T)]\""
    )
    assert found == [True, False]
    return host.performed("metadef")


def test_metadata_definitions_are_cached() -> None:
    assert metadata("true") == [
        {"region": None, "query": "namespaces", "resource_type": "T"},
        {"region": None, "query": "objects", "namespace": "N1"},
        {"region": None, "query": "objects", "namespace": "N2"},
    ]


def test_metadata_definitions_are_asked_for_again() -> None:
    assert len(metadata("false")) == 6


def test_secrets_are_effects_where_the_engine_has_no_store() -> None:
    host = answering("secret", "open")
    assert host.evaluate("decryptData('ref')") == "open"
    assert host.performed("secret") == [{"data": "ref"}]
    with pytest.raises(Exception, match="no secret store is configured"):
        Host().evaluate("decryptData('ref')")
    assert Host(secrets=lambda ref: ref + "!").evaluate("decryptData('ref')") == "ref!"
