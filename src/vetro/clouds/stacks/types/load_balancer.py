"""The load balancer of old (one broken package uses it): kept as records that a recorder can show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vetro.clouds.drivers import values
from vetro.clouds.stacks.state.inventory import Kind
from vetro.clouds.stacks.types.base import Call, Prop, ResourceType


class _Kept(ResourceType):
    """A record that nothing on this machine acts upon."""

    plain = True

    record: Kind | None = "pool"

    def create(self, call: Call) -> None:
        """The record."""
        assert self.record is not None
        shown = {"name": call.physical_name, **call.props, "id": call.id, "status": "ACTIVE"}
        call.things.save(self.record, {**shown, "tenant_id": call.owner.project}, environment=call.owner.environment)

    def update(self, call: Call, old: Mapping[str, Any]) -> None:
        """The record anew."""
        self.create(call)


class Pool(_Kept):
    """OS::Neutron::Pool."""

    properties: Mapping[str, Prop] = {
        "protocol": Prop(required=True, allowed=("TCP", "HTTP", "HTTPS")),
        "subnet": Prop(constraint="neutron.subnet"),
        "subnet_id": Prop(constraint="neutron.subnet"),
        "lb_method": Prop(required=True, update=True, allowed=("ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP")),
        "name": Prop(parse=values.Name),
        "description": Prop(update=True),
        "admin_state_up": Prop("boolean", default=True, update=True),
        "vip": Prop("map", required=True),
        "monitors": Prop("list", update=True),
        "provider": Prop(),
    }
    attributes = ("id", "name", "protocol", "subnet_id", "lb_method", "vip", "admin_state_up", "provider")


class PoolMember(_Kept):
    """OS::Neutron::PoolMember."""

    properties: Mapping[str, Prop] = {
        "pool_id": Prop(required=True, update=True),
        "address": Prop(required=True, parse=values.address),
        "protocol_port": Prop("integer", required=True, parse=values.port),
        "weight": Prop("integer", update=True),
        "admin_state_up": Prop("boolean", default=True, update=True),
    }
    attributes = ("id", "pool_id", "address", "protocol_port", "weight", "admin_state_up")
    record: Kind | None = "member"


class LoadBalancer(_Kept):
    """OS::Neutron::LoadBalancer."""

    properties: Mapping[str, Prop] = {
        "pool_id": Prop(required=True, update=True),
        "protocol_port": Prop("integer", required=True, parse=values.port),
        "members": Prop("list", update=True),
    }
    attributes = ("id",)
    record: Kind | None = "loadbalancer"
