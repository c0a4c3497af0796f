"""OpenStack: stacks of Heat, and what Nova, Neutron, Glance and Cinder offer where they are (extra ``openstack``)."""

from __future__ import annotations

from vetro.clouds.openstack.cloud import OpenStackCloud
from vetro.clouds.openstack.settings import OpenStackSettings, SettingWrong

__all__ = ["OpenStackCloud", "OpenStackSettings", "SettingWrong"]
