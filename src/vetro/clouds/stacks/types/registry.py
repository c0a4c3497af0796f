"""All resource types by name."""

from __future__ import annotations

from collections.abc import Mapping

from vetro.clouds.interface import TemplateInvalid
from vetro.clouds.stacks.templates.hints import meant
from vetro.clouds.stacks.types import (
    compute,
    config,
    floating_ips,
    general,
    load_balancer,
    network,
    ports,
    security,
    server,
    volumes,
    wait_conditions,
)
from vetro.clouds.stacks.types.base import ResourceType
from vetro.clouds.stacks.types.group import ResourceGroup, TemplateResource


class UnknownType(TemplateInvalid):
    """A template uses a resource type that the cloud does not have."""

    code = "CLD132"


#: The types of the cloud.
TYPES: Mapping[str, ResourceType] = {
    "OS::Nova::Server": server.Server(),
    "OS::Nova::ServerGroup": compute.ServerGroup(),
    "OS::Nova::KeyPair": compute.KeyPair(),
    "OS::Nova::FloatingIP": floating_ips.NovaFloatingIP(),
    "OS::Nova::FloatingIPAssociation": floating_ips.NovaFloatingIPAssociation(),
    "OS::Neutron::Net": network.Net(),
    "OS::Neutron::Subnet": network.Subnet(),
    "OS::Neutron::Router": network.Router(),
    "OS::Neutron::RouterInterface": network.RouterInterface(),
    "OS::Neutron::Port": ports.Port(),
    "OS::Neutron::FloatingIP": floating_ips.FloatingIP(),
    "OS::Neutron::FloatingIPAssociation": floating_ips.FloatingIPAssociation(),
    "OS::Neutron::SecurityGroup": security.SecurityGroup(),
    "OS::Neutron::SecurityGroupRule": security.SecurityGroupRule(),
    "OS::Neutron::Pool": load_balancer.Pool(),
    "OS::Neutron::PoolMember": load_balancer.PoolMember(),
    "OS::Neutron::LoadBalancer": load_balancer.LoadBalancer(),
    "AWS::EC2::SecurityGroup": security.AwsSecurityGroup(),
    "OS::Cinder::Volume": volumes.Volume(),
    "OS::Cinder::VolumeAttachment": volumes.VolumeAttachment(),
    "OS::Heat::SoftwareConfig": config.SoftwareConfig(),
    "OS::Heat::StructuredConfig": config.StructuredConfig(),
    "OS::Heat::SoftwareDeployment": config.SoftwareDeployment(),
    "OS::Heat::StructuredDeployment": config.StructuredDeployment(),
    "OS::Heat::CloudConfig": config.CloudConfig(),
    "OS::Heat::MultipartMime": config.MultipartMime(),
    "OS::Heat::WaitCondition": wait_conditions.WaitCondition(),
    "OS::Heat::WaitConditionHandle": wait_conditions.WaitConditionHandle(),
    "OS::Heat::RandomString": general.RandomString(),
    "OS::Heat::Value": general.Value(),
    "OS::Heat::None": general.Nothing(),
    "OS::Heat::TestResource": wait_conditions.TestResource(),
    "OS::Heat::ResourceGroup": ResourceGroup(),
}

_TEMPLATE = TemplateResource()
_INERT = general.Nothing()
_SUFFIXES = (".yaml", ".yml", ".template")


def is_template(name: str) -> bool:
    """Whether a type is the name of a file."""
    return name.endswith(_SUFFIXES)


def handler_of(name: str, *, inert: bool = False) -> ResourceType:
    """The handler of a type. Raises `UnknownType` unless unknown ones are accepted as inert records."""
    handler = TYPES.get(name)
    if handler is not None:
        return handler
    if is_template(name):
        return _TEMPLATE
    if inert:
        return _INERT
    hint = meant(name, TYPES)
    known = "" if hint.startswith(";") else f" Known are {', '.join(sorted(TYPES))}."
    raise UnknownType(f"the cloud has no resource type '{name}'{hint}.{known}")
