"""The core library declares what packages rely on, letter for letter (CORE_LIBRARY.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import vetro.library
from vetro.library.natives.logger import LEVELS
from vetro.library.natives.registry import CLASSES
from vetro.muranopl.contracts.model import ContractList, ContractMap
from vetro.muranopl.declarations.tree import (
    NO_DEFAULT,
    ClassDecl,
    Expression,
    Literal,
    PropertyDecl,
)
from vetro.muranopl.reader.files import read_file
from vetro.yaql.values import thaw

ROOT = Path(vetro.library.__file__).parent / "io.murano"
MANIFEST = yaml.safe_load((ROOT / "manifest.yaml").read_text())


def read_all() -> dict[str, ClassDecl]:
    found: dict[str, ClassDecl] = {}
    for path in sorted(set(MANIFEST["Classes"].values())):
        file = ROOT / "Classes" / path
        found.update(read_file(file.read_text(), str(file), format_version=(1, 4), default_name=None).classes)
    return found


CLASS_DECLS = read_all()


def text_of(contract: Any) -> Any:
    """A contract as the YAML shows it."""
    if isinstance(contract, Expression):
        return contract.text
    if isinstance(contract, Literal):
        return contract.value
    if isinstance(contract, ContractList):
        return [text_of(item) for item in contract.items]
    assert isinstance(contract, ContractMap)
    entries = {key: text_of(value) for key, value in contract.entries}
    return {**entries, **{key.text: text_of(value) for key, value in contract.rest}}


def default_of(default: Any) -> Any:
    """A default as the YAML shows it."""
    if isinstance(default, Expression):
        return default.text
    return thaw(default.value)


def shown(prop: PropertyDecl) -> tuple[Any, ...]:
    default: Any = ()
    if prop.default is not NO_DEFAULT:
        default = (default_of(prop.default),)
    return (text_of(prop.contract), prop.usage.value, *default)


def test_the_manifest_names_exactly_the_classes_there_are() -> None:
    assert set(CLASS_DECLS) == set(MANIFEST["Classes"])
    assert {"FullName": "io.murano", "Type": "Library"}.items() <= MANIFEST.items()
    assert "Version" not in MANIFEST


def test_every_native_class_has_a_declaration() -> None:
    manifests = (yaml.safe_load(path.read_text()) for path in ROOT.parent.glob("*/manifest.yaml"))
    assert set(CLASSES) <= {name for manifest in manifests for name in manifest["Classes"]}


BROKER = {
    "host": "$.string().notNull()",
    "port": "$.int() or 5672",
    "login": "$.string().notNull()",
    "password": "$.string().notNull()",
    "virtual_host": "$.string() or '/'",
    "ssl": "$.bool() or false",
    "insecure": "$.bool() or false",
}
NETWORKS = "$.class(Network).notNull()"
STRING, STRING_NN, BOOL_NN, ANY_MAP = "$.string()", "$.string().notNull()", "$.bool().notNull()", {"$.string()": "$"}
PROPERTIES: dict[str, dict[str, tuple[Any, ...]]] = {
    "io.murano.Object": {},
    "io.murano.Application": {},
    "io.murano.Environment": {
        "name": (STRING_NN, "In"),
        "applications": (["$.class(Application).owned().notNull()"], "In"),
        "agentListener": ("$.class(sys:AgentListener)", "Runtime"),
        "stack": ("$.class(sys:HeatStack)", "Runtime"),
        "instanceNotifier": ("$.class(sys:InstanceNotifier)", "Runtime"),
        "defaultNetworks": ({"environment": "$.template(res:Network)", "flat": "$.template(res:Network)"}, "In"),
        "securityGroupManager": ("$.class(sys:SecurityGroupManager)", "Runtime"),
        "reporter": ("$.class(sys:StatusReporter)", "Runtime"),
        "regionConfigs": ({STRING: {"agentRabbitMq": BROKER}}, "Config"),
        "region": (STRING, "InOut"),
        "homeRegionName": (STRING, "Runtime"),
        "regions": ({STRING: "$.class(CloudRegion)"}, "InOut"),
    },
    "io.murano.CloudRegion": {
        "name": (STRING, "In"),
        "agentListener": ("$.class(sys:AgentListener)", "Runtime"),
        "stack": ("$.class(sys:HeatStack)", "Runtime"),
        "defaultNetworks": ({"environment": "$.class(res:Network)", "flat": "$.class(res:Network)"}, "In"),
        "securityGroupManager": ("$.class(sys:SecurityGroupManager)", "Runtime"),
    },
    "io.murano.CloudResource": {"regionName": (STRING, "In")},
    "io.murano.Exception": {
        "name": (STRING, "Runtime"),
        "message": (STRING, "Runtime"),
        "stackTrace": ("$", "Runtime"),
        "extra": ({}, "Runtime"),
        "nativeException": ("$", "Runtime"),
        "cause": ("$.class(Exception)", "Runtime"),
    },
    "io.murano.StackTrace": {
        "frames": ([{"instruction": STRING, "location": "$", "methodName": "$", "typeName": "$"}], "Runtime")
    },
    "io.murano.File": {
        "base64Content": (STRING_NN, "In", ""),
        "mimeType": (STRING_NN, "In", "application/octet-stream"),
        "filename": (STRING, "In"),
    },
    "io.murano.User": {
        "id": (STRING_NN, "In"),
        "name": (STRING_NN, "In"),
        "domain": (STRING_NN, "In"),
        "email": (STRING, "In"),
        "extra": (ANY_MAP, "In"),
    },
    "io.murano.Project": {
        "id": (STRING_NN, "In"),
        "name": (STRING_NN, "In"),
        "domain": (STRING_NN, "In"),
        "description": (STRING, "In"),
        "extra": (ANY_MAP, "In"),
    },
    "io.murano.SharedIp": {
        "assignFloatingIp": (BOOL_NN, "In", False),
        "virtualIp": (STRING, "Out"),
        "floatingIpAddress": (STRING, "Out"),
        "network": ("$.class(res:Network)", "InOut"),
    },
    "io.murano.SharedIpRange": {"cidr": (STRING_NN, "InOut")},
    "io.murano.resources.MetadataAware": {"checkApplicability": (BOOL_NN, "In", True)},
    "io.murano.resources.Instance": {
        "name": (STRING_NN, "In"),
        "flavor": (STRING_NN, "In"),
        "image": (STRING, "In", None),
        "keyname": (STRING, "In", None),
        "openstackId": (STRING, "Out"),
        "availabilityZone": (STRING_NN, "In", "nova"),
        "agent": ("$.class(sys:Agent)", "Runtime"),
        "ipAddresses": ([STRING], "Out"),
        "networks": (
            {
                "useEnvironmentNetwork": BOOL_NN,
                "useFlatNetwork": BOOL_NN,
                "customNetworks": [NETWORKS],
                "primaryNetwork": "$.class(Network).notOwned()",
            },
            "In",
            {"useEnvironmentNetwork": True, "useFlatNetwork": False, "customNetworks": [], "primaryNetwork": None},
        ),
        "assignFloatingIp": (BOOL_NN, "In", False),
        "floatingIpAddress": (STRING, "Out"),
        "securityGroupName": (STRING, "In", None),
        "securityGroups": ([STRING], "In", []),
        "sharedIps": (["$.class(std:SharedIp)"], "InOut"),
        "volumes": ({STRING_NN: "$.class(Volume).notNull()"}, "In"),
        "blockDevices": (
            [
                {
                    "volume": "$.class(Volume).notNull()",
                    "deviceName": STRING,
                    "deviceType": "$.string().check($ in list(disk, cdrom, null))",
                    "bootIndex": "$.int()",
                }
            ],
            "In",
            [],
        ),
        "joinedNetworks": ([{"network": NETWORKS, "ipList": [STRING_NN]}], "Out"),
        "instanceAffinityGroup": ("$.class(InstanceAffinityGroup)", "In"),
    },
    "io.murano.resources.InstanceAffinityGroup": {"affinity": (BOOL_NN, "In", False)},
    "io.murano.resources.NeutronNetworkBase": {"port_security_disable": ("$.bool()", "In")},
    "io.murano.resources.NeutronNetwork": {
        "name": (STRING_NN, "In"),
        "ipVersion": ("$.int()", "In", 4),
        "externalRouterId": (STRING, "InOut"),
        "autoUplink": (BOOL_NN, "In", True),
        "autogenerateSubnet": (BOOL_NN, "In", True),
        "openstackId": (STRING, "Out"),
        "subnetCidr": (STRING, "InOut"),
        "dnsNameservers": ([STRING], "InOut"),
    },
    "io.murano.resources.ExistingNeutronNetwork": {
        "internalNetworkName": (STRING, "InOut", None),
        "internalSubnetworkName": (STRING, "InOut", None),
        "externalNetworkName": (STRING, "InOut", None),
    },
    "io.murano.resources.NovaNetwork": {},
    "io.murano.resources.Volume": {"openstackId": (STRING, "Out")},
    "io.murano.resources.CinderVolume": {
        "name": (STRING, "In"),
        "size": ("$.int().notNull().check($ >= 1)", "In"),
        "availabilityZone": (STRING, "In"),
        "readOnly": (BOOL_NN, "In", False),
        "sourceImage": (STRING, "In"),
        "sourceVolume": ("$.class(Volume)", "In"),
        "sourceSnapshot": ("$.class(CinderVolumeSnapshot)", "In"),
        "sourceVolumeBackup": ("$.class(CinderVolumeBackup)", "In"),
        "attachments": (["$"], "Out"),
    },
    "io.murano.resources.ExistingCinderVolume": {"openstackId": (STRING_NN, "In")},
    "io.murano.resources.CinderVolumeBackup": {"openstackId": (STRING_NN, "In")},
    "io.murano.resources.CinderVolumeSnapshot": {"openstackId": (STRING_NN, "In")},
    "io.murano.system.SecurityGroupManager": {
        "defaultGroupName": (STRING, "In", "id($.find(std:CloudRegion).require())")
    },
    "io.murano.metadata.Title": {"text": (STRING_NN, "In")},
    "io.murano.metadata.Description": {"text": (STRING_NN, "In")},
    "io.murano.metadata.HelpText": {"text": (STRING_NN, "In")},
    "io.murano.metadata.ModelBuilder": {"enabled": (BOOL_NN, "In", True)},
    "io.murano.metadata.forms.Hidden": {"visible": (BOOL_NN, "In", False)},
    "io.murano.metadata.forms.Position": {"index": ("$.int()", "In", None), "section": (STRING, "In", None)},
    "io.murano.metadata.forms.Section": {
        "name": (STRING_NN, "In"),
        "title": (STRING, "In", "$.name"),
        "index": ("$.int()", "In", None),
    },
    "io.murano.metadata.engine.Serialize": {"as": ("$.string().notNull().check($ in list(reference, copy))", "In")},
    "io.murano.metadata.engine.Synchronize": {"onThis": (BOOL_NN, "In", True), "onArgs": ([STRING_NN], "In")},
    "io.murano.test.TestFixture": {},
    "io.murano.test.TestFixtureWithEnvironment": {"environment": ("$.class(std:Environment)", "Runtime")},
}


@pytest.mark.parametrize("name", sorted(PROPERTIES))
def test_properties(name: str) -> None:
    assert {n: shown(p) for n, p in CLASS_DECLS[name].properties.items()} == PROPERTIES[name]


META = {
    "io.murano.metadata.Title": ("One", {"All"}),
    "io.murano.metadata.Description": ("One", {"All"}),
    "io.murano.metadata.HelpText": ("One", {"All"}),
    "io.murano.metadata.ModelBuilder": ("One", {"Method"}),
    "io.murano.metadata.forms.Hidden": ("One", {"Property", "Argument"}),
    "io.murano.metadata.forms.Position": ("One", {"Property", "Argument"}),
    "io.murano.metadata.forms.Section": ("Many", {"Type", "Method"}),
    "io.murano.metadata.engine.Serialize": ("One", {"Property"}),
    "io.murano.metadata.engine.Synchronize": ("One", {"Method"}),
}


@pytest.mark.parametrize("name", sorted(META))
def test_meta_classes(name: str) -> None:
    decl = CLASS_DECLS[name]
    assert (decl.cardinality, set(decl.applies)) == META[name]
    assert decl.usage.value == "Meta" and decl.inherited


METHODS = {
    "io.murano.Object": {"setAttr": ["name", "value", "owner"], "getAttr": ["name", "default", "owner"]},
    "io.murano.Exception": {"toString": []},
    "io.murano.StackTrace": {"toString": ["prefix"]},
    "io.murano.User": {"getCurrent": [], "getEnvironmentOwner": []},
    "io.murano.Project": {"getCurrent": [], "getEnvironmentOwner": []},
    "io.murano.system.Agent": {
        "queueName": [],
        "signingKey": ["linePrefix"],
        "brokerAccount": ["broker"],
        "buildExecutionPlan": ["template", "resources"],
        "call": ["template", "resources", "timeout"],
        "send": ["template", "resources"],
        "callRaw": ["plan", "timeout"],
        "sendRaw": ["plan"],
        "waitReady": ["timeout"],
        "isReady": ["timeout"],
    },
    "io.murano.system.NetworkExplorer": {
        "getDefaultRouter": [],
        "getAvailableCidr": ["routerId", "netId", "ipVersion"],
        "getDefaultDns": ["ipVersion"],
        "getExternalNetworkIdForRouter": ["routerId"],
        "getExternalNetworkIdForNetwork": ["networkId"],
        "listNetworks": [],
        "listSubnetworks": [],
        "listPorts": [],
        "listNeutronExtensions": [],
    },
    "io.murano.system.MistralClient": {"upload": ["definition"], "run": ["name", "timeout", "inputs", "params"]},
    "io.murano.system.MetadefBrowser": {"getNamespaces": ["resourceType"], "getObjects": ["namespace"]},
    "io.murano.system.AgentListener": {"queueName": [], "start": [], "stop": []},
    "io.murano.system.GC": {
        "subscribeDestruction": ["publisher", "subscriber", "handler"],
        "unsubscribeDestruction": ["publisher", "subscriber", "handler"],
        "collect": [],
        "isDoomed": ["object"],
        "isDestroyed": ["object"],
    },
    "io.murano.system.HeatStack": {
        "current": [],
        "reload": [],
        "parameters": [],
        "setTemplate": ["template"],
        "setParameters": ["parameters"],
        "setFiles": ["files"],
        "setHotEnvironment": ["environment"],
        "updateTemplate": ["template"],
        "push": ["isAsync", "async"],
        "output": [],
        "delete": [],
    },
    "io.murano.system.InstanceNotifier": {
        "trackApplication": ["instance", "title", "unitCount"],
        "untrackApplication": ["instance"],
        "trackCloudInstance": ["instance"],
        "untrackCloudInstance": ["instance"],
        "checkNames": [],
        "claimName": ["instance"],
        "ownsName": ["instance"],
    },
    "io.murano.system.Logger": {
        **{level: ["message", "args", "kwargs"] for level in LEVELS},
        "exception": ["exc", "message", "args", "kwargs"],
    },
    "io.murano.system.Resources": {
        "string": ["name", "owner", "binary"],
        "json": ["name", "owner"],
        "yaml": ["name", "owner"],
    },
    "io.murano.system.StatusReporter": {
        "report": ["instance", "msg"],
        "report_error": ["instance", "msg"],
        "reportError": ["instance", "msg"],
    },
    "io.murano.test.TestFixture": {
        "load": ["model"],
        "finishEnv": [],
        "startEnv": [],
        "assertEqual": ["expected", "observed", "message"],
        "assertTrue": ["expr", "message"],
        "assertFalse": ["expr", "message"],
        "assertIn": ["needle", "haystack", "message"],
        "assertNotIn": ["needle", "haystack", "message"],
    },
}


@pytest.mark.parametrize("name", sorted(METHODS))
def test_native_methods(name: str) -> None:
    found = vetro.library.core_natives().get(name)
    assert found is not None
    assert {n: [p.name for p in m.params] for n, m in found.methods.items()} == METHODS[name]


def test_public_methods_of_environments() -> None:
    methods = CLASS_DECLS["io.murano.Environment"].methods
    assert [name for name, method in methods.items() if method.public] == ["deploy"]


RULES = ["rules", "groupName"]
JOIN = ["instance", "securityGroupName", "securityGroups", "assignFloatingIp", "sharedIps"]
#: class -> method -> arguments; what packages call or override.
WRITTEN = {
    "io.murano.SharedIp": {"deployNetwork": [], "deploy": [], "getSharedIpRef": [], "releaseResources": []},
    "io.murano.resources.MetadataAware": {
        "getMetadefBrowser": ["region"], "getMetadata": ["region"], "getResourceType": [],
    },
    "io.murano.resources.Instance": {
        "deploy": [], "beginDeploy": [], "endDeploy": [], "detectPrimaryNetwork": [], "ensureNetworksDeployed": [],
        "ensureSharedIpsDeployed": [], "joinNet": ["net", "securityGroupName", "securityGroups"],
        "attachVolume": ["path", "volume"], "buidBlockDeviceDefinition": ["blockDevice"],
        "beginReleaseResources": [], "endReleaseResources": [], "releaseResources": [],
        "_onReferencedResourceDelete": ["resource"], "validateBootSource": [],
        "prepareStackTemplate": ["instanceTemplate"], "prepareUserData": [],
        "createDefaultInstanceSecurityGroupRules": ["groupName"], "setSharedIps": ["ips"], "isDeployed": [],
        "getRef": [], "getResourceType": [],
    },
    "io.murano.resources.LinuxMuranoInstance": {
        "prepareUserData": [], "_generateInstanceConfigResources": ["userData"], "generateCloudConfig": [],
        "generateUserData": [], "releaseResources": [],
    },
    "io.murano.resources.HeatSWConfigInstance": {
        "addSoftwareConfig": [
            "configName", "configSection", "inputValues", "configGroup", "isStructured", "signalTransport"
        ],
        "addStructuredConfig": ["configName", "configSection", "inputValues", "signalTransport"],
    },
    "io.murano.resources.LinuxUDInstance": {"setCustomUserData": ["data"]},
    "io.murano.resources.InstanceAffinityGroup": {"deploy": [], "getRef": [], "_getHeatName": []},
    "io.murano.resources.Network": {
        "deploy": [], "joinInstance": ["instance", "securityGroupName", "assignFloatingIp", "sharedIps"],
        "generateSecurityGroupManager": [], "describe": [], "getInstanceIpList": ["instance"],
    },
    "io.murano.resources.NeutronNetworkBase": {
        "_getNetExplorer": [],
        "joinInstanceToNetwork": [
            "instance", "securityGroupName", "securityGroups", "sharedIps", "netRef", "subnetRef",
            "floatingIpResourceName", "floatingIpNetRef", "netName",
        ],
        "generateSecurityGroupManager": [], "getInstanceIpList": ["instance"],
    },
    "io.murano.resources.NeutronNetwork": {"deploy": [], "joinInstance": JOIN, "describe": [], "releaseResources": []},
    "io.murano.resources.ExistingNeutronNetwork": {"deploy": [], "joinInstance": JOIN, "describe": []},
    "io.murano.resources.NovaNetwork": {"joinInstance": JOIN, "describe": []},
    "io.murano.resources.Volume": {
        "deploy": [], "getRef": [], "releaseResources": [], "attachTo": ["instance", "path"],
    },
    "io.murano.resources.CinderVolume": {
        "buildResourceDefinition": [], "deploy": [], "getRef": [], "getResourceName": [], "getResourceType": [],
        "releaseResources": [], "setAttachments": ["attachments"],
    },
    "io.murano.resources.CinderVolumeBackup": {"validate": []},
    "io.murano.resources.CinderVolumeSnapshot": {"validate": []},
    "io.murano.system.SecurityGroupManager": {"addGroupIngress": RULES, "addGroupEgress": RULES},
    "io.murano.system.NeutronSecurityGroupManager": {"addGroupIngress": RULES, "addGroupEgress": RULES},
    "io.murano.system.AwsSecurityGroupManager": {"addGroupIngress": RULES, "addGroupEgress": RULES},
    "io.murano.system.MetadefBrowser": {"canBeAppliedTo": ["tag", "resourceType"]},
    "io.murano.configuration.Linux": {
        "runCommand": [
            "agent", "command", "helpText", "captureStderr", "captureStdout", "ignoreErrors", "timeout"
        ],
        "putFile": ["agent", "fileContent", "path", "helpText", "ignoreErrors", "timeout"],
    },
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(WRITTEN))
def test_methods(name: str) -> None:
    methods = CLASS_DECLS[name].methods
    assert {n: [a.name for a in methods[n].arguments] for n in WRITTEN[name]} == WRITTEN[name]


PARENTS = {
    "SharedIp": ["CloudResource"],
    "SharedIpRange": ["SharedIp"],
    "resources.Instance": ["CloudResource", "resources.MetadataAware"],
    "resources.LinuxInstance": ["resources.Instance"],
    "resources.LinuxMuranoInstance": ["resources.LinuxInstance"],
    "resources.ConfLangInstance": ["resources.LinuxMuranoInstance"],
    "resources.HeatSWConfigInstance": ["resources.Instance"],
    "resources.HeatSWConfigLinuxInstance": ["resources.LinuxInstance", "resources.HeatSWConfigInstance"],
    "resources.LinuxUDInstance": ["resources.LinuxInstance"],
    "resources.WindowsInstance": ["resources.Instance"],
    "resources.InstanceAffinityGroup": ["CloudResource"],
    "resources.Network": ["CloudResource"],
    "resources.NeutronNetworkBase": ["resources.Network"],
    "resources.NeutronNetwork": ["resources.NeutronNetworkBase"],
    "resources.ExistingNeutronNetwork": ["resources.NeutronNetworkBase"],
    "resources.NovaNetwork": ["resources.Network"],
    "resources.Volume": ["CloudResource"],
    "resources.CinderVolume": ["resources.Volume", "resources.MetadataAware"],
    "resources.ExistingCinderVolume": ["resources.Volume"],
    "system.NeutronSecurityGroupManager": ["system.SecurityGroupManager"],
    "system.AwsSecurityGroupManager": ["system.SecurityGroupManager"],
    "system.DummySecurityGroupManager": ["system.SecurityGroupManager"],
}


@pytest.mark.parametrize("name", sorted(PARENTS))
def test_parents(name: str) -> None:
    decl = CLASS_DECLS["io.murano." + name]
    found = [decl.namespaces.resolve(parent) for parent in decl.extends]
    assert found == ["io.murano." + parent for parent in PARENTS[name]]
