"""Which Python class stands behind which native class of the core library."""

from __future__ import annotations

from vetro.library.natives.agent import Agent, AgentListener
from vetro.library.natives.exceptions import ExceptionMethods, StackTraceMethods
from vetro.library.natives.gc import GarbageCollection
from vetro.library.natives.heat import HeatStack
from vetro.library.natives.identity import Project, User
from vetro.library.natives.logger import Logger
from vetro.library.natives.network import NetworkExplorer
from vetro.library.natives.objects import ObjectMethods
from vetro.library.natives.reporter import InstanceNotifier, StatusReporter
from vetro.library.natives.resources import Resources
from vetro.library.natives.services import MetadefBrowser, MistralClient
from vetro.library.natives.std import Script, Secrets, Server
from vetro.library.natives.std_files import File
from vetro.library.natives.testing import TestFixture
from vetro.muranopl.types.native import NativeRegistry

CLASSES: dict[str, type] = {
    "io.murano.Object": ObjectMethods,
    "io.murano.Exception": ExceptionMethods,
    "io.murano.StackTrace": StackTraceMethods,
    "io.murano.User": User,
    "io.murano.Project": Project,
    "io.murano.system.Agent": Agent,
    "io.murano.system.AgentListener": AgentListener,
    "io.murano.system.GC": GarbageCollection,
    "io.murano.system.HeatStack": HeatStack,
    "io.murano.system.InstanceNotifier": InstanceNotifier,
    "io.murano.system.Logger": Logger,
    "io.murano.system.MetadefBrowser": MetadefBrowser,
    "io.murano.system.MistralClient": MistralClient,
    "io.murano.system.NetworkExplorer": NetworkExplorer,
    "io.murano.system.Resources": Resources,
    "io.murano.system.StatusReporter": StatusReporter,
    "io.murano.test.TestFixture": TestFixture,
    "io.vetro.std.File": File,
    "io.vetro.std.Script": Script,
    "io.vetro.std.Secrets": Secrets,
    "io.vetro.std.Server": Server,
}


def registry() -> NativeRegistry:
    """A fresh registry with the native classes of the core library; hosts put their own on top as its child."""
    made = NativeRegistry()
    for name, implementation in CLASSES.items():
        made.native_class(name, implementation)
    return made
