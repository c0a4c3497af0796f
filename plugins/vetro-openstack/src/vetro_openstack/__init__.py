"""OpenStack: stacks of Heat, and what Nova, Neutron, Glance and Cinder offer where they are."""

from __future__ import annotations

from vetro_openstack.cloud import OpenStackCloud
from vetro_openstack.settings import OpenStackSettings, SettingWrong

__all__ = ["OpenStackCloud", "OpenStackSettings", "SettingWrong"]
