"""Security groups of both kinds, and single rules."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from vetro.clouds.drivers import values
from vetro.clouds.drivers.specs import SecurityRule
from vetro.clouds.interface import Conflict
from vetro.clouds.stacks.specs import group_spec
from vetro.clouds.stacks.state.inventory import Inventory, Record, fixed_id
from vetro.clouds.stacks.types.base import Call, Prop, PropertyInvalid, ResourceType

_RULE: Mapping[str, Prop] = {
    "direction": Prop(default="ingress", allowed=("ingress", "egress")),
    "ethertype": Prop(default="IPv4", allowed=("IPv4", "IPv6")),
    "protocol": Prop(parse=values.protocol),
    "port_range_min": Prop("integer", parse=values.any_port),
    "port_range_max": Prop("integer", parse=values.any_port),
    "remote_mode": Prop(default="remote_ip_prefix", allowed=("remote_ip_prefix", "remote_group_id")),
    "remote_group_id": Prop(),
    "remote_ip_prefix": Prop(parse=values.network),
}


def group_record(id: str, name: str, description: str, project: str, rules: list[Record]) -> Record:
    """The record of a security group. What goes out is allowed, as Neutron has it, unless a rule speaks of it."""
    has_egress = any(rule["direction"] == "egress" for rule in rules)
    out = [] if has_egress else [{"direction": "egress", "ethertype": kind} for kind in ("IPv4", "IPv6")]
    numbered = [{"id": fixed_id("rule", id, str(n)), **rule} for n, rule in enumerate([*out, *rules])]
    return {
        "id": id,
        "name": name,
        "description": description,
        "tenant_id": project,
        "project_id": project,
        "security_group_rules": numbered,
    }


def default_group(call: Call) -> Record:
    """The project's group for ports that name none: its members reach each other. Made when it is first needed."""
    id = fixed_id("security_group", call.owner.project, call.region, "default")
    found = call.things.find("security_group", id) or call.things.find("security_group", "default")
    if found is None:
        rules = [
            {"direction": "ingress", "ethertype": kind, "protocol": None, "remote_group_id": id}
            for kind in ("IPv4", "IPv6")
        ]
        found = group_record(id, "default", "Default security group", call.owner.project, rules)
        call.things.save("security_group", found)
    return found


def _fits(where: str, rule: Mapping[str, Any]) -> None:
    """Raises `PropertyInvalid` for ports that are none of the rule's protocol, or in the wrong order."""
    low, high = (
        None if rule.get(f"port_range_{end}") == -1 else rule.get(f"port_range_{end}") for end in ("min", "max")
    )
    try:
        SecurityRule(protocol=rule.get("protocol"), port_min=low, port_max=high)
    except values.ValueInvalid as error:
        raise PropertyInvalid(f"{where}: {error}") from None


def _rules(call: Call, rules: list[dict[str, Any]]) -> list[Record]:
    made = []
    for rule in rules:
        low, high = rule.get("port_range_min"), rule.get("port_range_max")
        protocol = None if rule.get("protocol") in (None, "", "any") else str(rule["protocol"]).lower()
        group = None
        if rule.get("remote_mode") == "remote_group_id" or rule.get("remote_group_id"):
            group = (
                call.things.get("security_group", rule["remote_group_id"])["id"]
                if rule.get("remote_group_id")
                else call.id
            )
        made.append(
            {
                "direction": rule.get("direction", "ingress"),
                "ethertype": rule.get("ethertype", "IPv4"),
                "protocol": protocol,
                "port_range_min": low,
                "port_range_max": high,
                "remote_ip_prefix": rule.get("remote_ip_prefix") if group is None else None,
                "remote_group_id": group,
            }
        )
    return made


class SecurityGroup(ResourceType):
    """OS::Neutron::SecurityGroup."""

    properties: Mapping[str, Prop] = {
        "name": Prop(update=True, parse=values.Name),
        "description": Prop(update=True),
        "rules": Prop("list", update=True, fields=_RULE),
    }
    attributes = ("id", "name", "description", "security_group_rules", "tenant_id")
    record = "security_group"

    def check(self, props: Mapping[str, Any], things: Inventory, known: Collection[str]) -> None:
        """The rules can be what they say."""
        for place, rule in enumerate(props.get("rules") or ()):
            _fits(f"rules[{place}]", rule)

    def create(self, call: Call) -> None:
        """The record, and the rules at the driver."""
        self._save(call)

    def update(self, call: Call, old: Mapping[str, Any]) -> None:
        """Name and rules; they hold at once for all members."""
        self._save(call)

    def _save(self, call: Call) -> None:
        name = call.props.get("name") or call.physical_name
        if name == "default":
            raise PropertyInvalid("a security group cannot be named 'default': every project has one of that name")
        record = group_record(call.id, name, call.props.get("description") or "", call.owner.project, self.rules(call))
        there = call.things.find("security_group", call.id)
        singles = (there or {}).get("single_rules") or {}
        record["single_rules"] = singles
        record["security_group_rules"] += singles.values()
        call.things.save("security_group", record, environment=call.owner.environment)
        call.services.driver.ensure_group(group_spec(record))

    def rules(self, call: Call) -> list[Record]:
        """The rules of the properties."""
        return _rules(call, call.props.get("rules") or [])

    def delete(self, call: Call) -> None:
        """Raises `Conflict` while ports are in it."""
        for port in call.things.all("port"):
            if call.id in (port.get("security_groups") or ()):
                raise Conflict(f"the security group {call.id} is in use by the port {port['id']}")
        call.services.driver.delete_group(call.id)
        call.things.delete(call.id)


class SecurityGroupRule(ResourceType):
    """OS::Neutron::SecurityGroupRule: one rule more in a group."""

    properties: Mapping[str, Prop] = {
        "security_group": Prop(required=True),
        "description": Prop(),
        **{name: prop for name, prop in _RULE.items() if name not in ("remote_mode", "remote_group_id")},
        "remote_group": Prop(),
    }
    attributes = ("id",)

    def check(self, props: Mapping[str, Any], things: Inventory, known: Collection[str]) -> None:
        """The rule can be what it says."""
        _fits("the rule", props)

    def create(self, call: Call) -> None:
        """Adds the rule."""
        rule = {**call.props, "remote_group_id": call.props.get("remote_group")}
        self._change(call, {"id": call.id, **_rules(call, [rule])[0]})

    def delete(self, call: Call) -> None:
        """Takes the rule away."""
        if call.things.find("security_group", call.props["security_group"]) is not None:
            self._change(call, None)

    def _change(self, call: Call, rule: Record | None) -> None:
        with call.services.alone(call.props["security_group"]), call.services.database.transaction():
            group = call.things.get("security_group", call.props["security_group"])
            singles = group.setdefault("single_rules", {})
            singles.pop(call.id, None)
            rules = [item for item in group["security_group_rules"] if item["id"] != call.id]
            if rule is not None:
                singles[call.id] = rule
                rules.append(rule)
            group["security_group_rules"] = rules
            call.things.save("security_group", group)
        call.services.driver.ensure_group(group_spec(group))

    def value(self, call: Call, name: str) -> Any:
        """The id."""
        return call.id


_AWS_RULE: Mapping[str, Prop] = {
    "IpProtocol": Prop(required=True, parse=values.protocol),
    "FromPort": Prop("integer", parse=values.any_port),
    "ToPort": Prop("integer", parse=values.any_port),
    "CidrIp": Prop(parse=values.network),
    "SourceSecurityGroupId": Prop(),
    "SourceSecurityGroupName": Prop(),
    "SourceSecurityGroupOwnerId": Prop(),
}


class AwsSecurityGroup(SecurityGroup):
    """AWS::EC2::SecurityGroup: referred to by name."""

    properties: Mapping[str, Prop] = {
        "GroupDescription": Prop(required=True),
        "VpcId": Prop(),
        "SecurityGroupIngress": Prop("list", update=True, fields=_AWS_RULE),
        "SecurityGroupEgress": Prop("list", update=True, fields=_AWS_RULE),
    }

    def check(self, props: Mapping[str, Any], things: Inventory, known: Collection[str]) -> None:
        """The rules can be what they say."""
        for name in ("SecurityGroupIngress", "SecurityGroupEgress"):
            for place, rule in enumerate(props.get(name) or ()):
                ports = {"port_range_min": rule.get("FromPort"), "port_range_max": rule.get("ToPort")}
                _fits(f"{name}[{place}]", {"protocol": rule["IpProtocol"], **ports})

    def rules(self, call: Call) -> list[Record]:
        """Both lists in Neutron's words."""
        made = []
        for direction in ("Ingress", "Egress"):
            for rule in call.props.get(f"SecurityGroup{direction}") or []:
                low, high = rule.get("FromPort"), rule.get("ToPort")
                made.append(
                    {
                        "direction": direction.lower(),
                        "protocol": None if rule["IpProtocol"] == "-1" else rule["IpProtocol"],
                        "port_range_min": None if low == -1 else low,
                        "port_range_max": None if high == -1 else high,
                        "remote_ip_prefix": rule.get("CidrIp"),
                        "remote_group_id": rule.get("SourceSecurityGroupId") or rule.get("SourceSecurityGroupName"),
                    }
                )
        return _rules(call, made)

    def reference(self, call: Call) -> Any:
        """The name."""
        return (call.things.find("security_group", call.id) or {}).get("name") or call.physical_name
