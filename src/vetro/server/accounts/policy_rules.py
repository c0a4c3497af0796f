"""The rules there are, what they say where no policy file says otherwise, and what each is about (API.md 15)."""

from __future__ import annotations

from typing import Final

ANYBODY: Final = ""
#: Everybody but those whose only role is reader. Roles that a Keystone knows by other names count as members.
WRITER: Final = "rule:writer"
ADMIN: Final = "rule:admin_api"

#: Name -> (expression, meaning). Names without a remark are Murano's.
RULES: Final[dict[str, tuple[str, str]]] = {
    "context_is_admin": ("role:{admin_role}", "sees and does everything, in every project"),
    "admin_api": ("is_admin:True", "what only administrators may do"),
    "writer": ("role:member or rule:context_is_admin or not role:reader", "may change things (Vetro's)"),
    "default": (ANYBODY, "every name without a rule of its own"),
    "list_environments": (ANYBODY, "list environments of the project"),
    "list_environments_all_tenants": (ADMIN, "list environments of other projects"),
    "show_environment": (ANYBODY, "read an environment, its applications and its model"),
    "update_environment": (WRITER, "change and deploy an environment"),
    "create_environment": (WRITER, "create an environment"),
    "delete_environment": (WRITER, "delete or abandon an environment"),
    "list_deployments": (ANYBODY, "list deployments of an environment"),
    "list_deployments_all_environments": (ANYBODY, "list deployments of the project"),
    "statuses_deployments": (ANYBODY, "read reports"),
    "execute_action": (WRITER, "run actions and static actions, read their results"),
    "get_schema": (ANYBODY, "read the schema of a class; refused with 401"),
    "get_statistics": (ANYBODY, "read statistics of the API"),
    "get_instance_statistics": (ANYBODY, "read statistics of instances"),
    "get_aggregated_statistics": (ANYBODY, "read sums of these"),
    "get_package": (ANYBODY, "list and read packages"),
    "upload_package": (WRITER, "import packages"),
    "modify_package": (WRITER, "change a package's description"),
    "publicize_package": (ADMIN, "offer a package to all projects"),
    "manage_public_package": (WRITER, "change and delete own packages that are public"),
    "delete_package": (WRITER, "delete a package"),
    "download_package": (ANYBODY, "download a package's archive"),
    "get_category": (ANYBODY, "list and read categories"),
    "add_category": (ADMIN, "add a category"),
    "delete_category": (ADMIN, "delete a category"),
    "list_env_templates": (ANYBODY, "list templates"),
    "create_env_template": (WRITER, "create a template"),
    "show_env_template": (ANYBODY, "read a template"),
    "update_env_template": (WRITER, "change a template"),
    "update_service_env_template": (WRITER, "change an application of a template"),
    "delete_env_template": (WRITER, "delete a template"),
    "clone_env_template": (WRITER, "clone a public template"),
    # /v2
    "list_tasks": (ANYBODY, "list tasks of the project (Vetro's)"),
    "show_task": (ANYBODY, "read a task, its reports and its result (Vetro's)"),
    "cancel_task": (WRITER, "cancel a task (Vetro's)"),
    "retry_task": (WRITER, "deploy again from where a task stopped (Vetro's)"),
    "resolve_task": (WRITER, "decide what became of an effect that nobody can look up (Vetro's)"),
    "plan_environment": (WRITER, "find out what a deployment would do (Vetro's)"),
    "undo_environment": (WRITER, "take an update of an environment back, or let go of its way back (Vetro's)"),
    "keep_environment_ids": (ADMIN, "import an environment of elsewhere under the ids that it had there (Vetro's)"),
    "impact_all_projects": (ADMIN, "count what a package would change in environments of all projects (Vetro's)"),
    "power_environment": (WRITER, "start, stop and restart servers of an environment (Vetro's)"),
    "read_server_logs": (WRITER, "see servers of an environment, read their consoles and journals (Vetro's)"),
    "run_server_commands": (WRITER, "run commands and terminals as root of servers of an environment (Vetro's)"),
    "manage_notices": (WRITER, "read and change who is told what happens in the project (Vetro's)"),
    "report_environment": (WRITER, "get the report about an environment for whoever helps (Vetro's)"),
    "show_history": (ANYBODY, "read earlier states of an environment and their differences (Vetro's)"),
    "show_quotas": (ANYBODY, "see what the project may have at most, and has (Vetro's)"),
    "watch_events": (ANYBODY, "follow what happens in the project (Vetro's)"),
    "use_forms": (ANYBODY, "see forms and have answers checked (Vetro's)"),
    "compare_packages": (WRITER, "compare versions of packages (Vetro's)"),
    "force_version": (ADMIN, "import and publish a package whose version number is too low (Vetro's)"),
    "import_from_address": (WRITER, "import packages from an address (Vetro's)"),
    "list_clouds": (ANYBODY, "list clouds and kinds of clouds, and what they can do (Vetro's)"),
    "list_flavors": (ANYBODY, "list the sizes of servers that the cloud has (Vetro's)"),
    "list_images": (ANYBODY, "list images of the cloud and their marks (Vetro's)"),
    "build_images": (ADMIN, "build images for servers of this installation (Vetro's)"),
    "mark_images": (ADMIN, "mark images of the cloud for forms (Vetro's)"),
    "force_delete_package": (WRITER, "delete or disable a package that others require (Vetro's)"),
    "list_audit": (WRITER, "read the audit records of the project (Vetro's)"),
    "list_audit_all_projects": (ADMIN, "read all audit records (Vetro's)"),
    "operate": (ADMIN, "see and steer workers, queue, cloud, disk, backups and settings of the installation (Vetro's)"),
    "manage_own_tokens": (ANYBODY, "create, list and revoke one's own tokens (Vetro's)"),
    "manage_accounts": (ADMIN, "manage users, projects, roles and everybody's tokens (Vetro's)"),
}


def default_rules(admin_role: str) -> dict[str, str]:
    """Expression of every rule."""
    return {name: text.replace("{admin_role}", admin_role) for name, (text, _) in RULES.items()}
