"""A CSAR package of our own."""

from __future__ import annotations

from vetro.packages.build import archive_files

MANIFEST = "Format: TOSCA.CSAR/1.1\nType: Application\nFullName: com.example.Web\nDescription: A web server\n"
META = "TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-By: us\nEntry-Definitions: Definitions/app.yaml\n"
APP = """\
tosca_definitions_version: tosca_simple_yaml_1_0
description: A web server
imports: [types.yaml]
topology_template:
  inputs:
    cpus:
      type: integer
      constraints: [{valid_values: [1, 2, 4]}]
    greeting:
      type: string
    names: {type: list, entry_schema: {type: string}, default: [a, b]}
  node_templates:
    server:
      type: tosca.nodes.Compute
      capabilities:
        host: {properties: {num_cpus: {get_input: cpus}, mem_size: 512 MB, disk_size: 10 GB}}
    web:
      type: example.nodes.Web
      properties: {greeting: {get_input: greeting}}
      requirements: [{host: server}]
      interfaces:
        Standard:
          create: ../Scripts/create.sh
          configure:
            implementation: ../Scripts/configure.sh
            inputs: {greeting: {get_input: greeting}}
  outputs:
    address: {value: {get_attribute: [server, private_address]}}
"""
TYPES = """\
tosca_definitions_version: tosca_simple_yaml_1_0
node_types:
  example.nodes.Web:
    derived_from: tosca.nodes.SoftwareComponent
    properties: {greeting: {type: string}}
"""
CREATE, CONFIGURE = "#!/bin/sh\necho create\n", "#!/bin/sh\necho $greeting\n"


def csar(**changes: str | bytes | None) -> bytes:
    """The archive; changes give other contents by path, None leaves a file out."""
    files: dict[str, str | bytes | None] = {
        "TOSCA-Metadata/TOSCA.meta": META,
        "Definitions/app.yaml": APP,
        "Definitions/types.yaml": TYPES,
        "Scripts/create.sh": CREATE,
        "Scripts/configure.sh": CONFIGURE,
        **changes,
    }
    there = {path: data for path, data in files.items() if data is not None}
    return archive_files((path, data if isinstance(data, bytes) else data.encode()) for path, data in there.items())


def package(**changes: str | bytes | None) -> dict[str, str | bytes]:
    """The files of the package."""
    return {"manifest.yaml": MANIFEST, "csar.zip": csar(**changes)}
