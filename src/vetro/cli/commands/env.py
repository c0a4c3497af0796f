"""`vetro env`: environments, of a workspace or of a server."""

from __future__ import annotations

import click

from vetro.cli.groups import Commands, Sections, Table

SECTIONS: Sections = {
    "Looking": {
        "list": ("env_lifecycle:list_command", "List the environments with their state."),
        "show": (
            "env_lifecycle:show_command",
            "Show an environment: applications, servers, addresses, packages, history.",
        ),
        "health": (
            "env_lifecycle:health_command",
            "Show how an environment and its applications are: servers, checks, and what changed.",
        ),
        "drift": (
            "env_lifecycle:drift_command",
            "Show what of an environment is not as its last task left it: servers, stacks, packages, drafts.",
        ),
        "metrics": (
            "env_metrics:metrics_command",
            "Show what the servers of an environment on a server used in the last hour.",
        ),
        "lock": ("env_lock:lock_command", "Show which archives an environment was deployed with."),
        "why": ("env_lock:why_command", "Tell why an environment has its packages in these versions."),
    },
    "Changing": {
        "create": ("env_lifecycle:create_command", "Make an empty environment."),
        "deploy": (
            "env_lifecycle:deploy_command",
            "Deploy an environment again as it is: repairs what a failed deployment left undone.",
        ),
        "realize": (
            "env_lifecycle:realize_command",
            "Make real what is simulated: deploy an environment anew where servers run.",
        ),
        "remove": (
            "env_lifecycle:remove_command",
            "Remove one application of an environment, with all that it owns; the others stay.",
        ),
        "repair": (
            "env_lifecycle:repair_command",
            "Make an environment again as it was left: deploy what is deployed, and no draft.",
        ),
        "restore": (
            "env_lock:restore_command",
            "Deploy an earlier state of an environment with the packages that it had then.",
        ),
        "undo": (
            "env_undo:undo_command",
            "Take the update of an environment back: disks, addresses, stacks, model and packages are as they were "
            "before.",
        ),
        "keep": (
            "env_undo:keep_command",
            "Keep what an update made, and let go of what is held: it cannot be taken back any more.",
        ),
        "destroy": ("env_lifecycle:destroy_command", "Destroy everything in an environment, then the environment."),
    },
    "Tasks": {
        "watch": (
            "env_tasks:watch_command",
            "Watch the task of an environment on a server until it ends; the exit status says how.",
        ),
        "cancel": (
            "env_tasks:cancel_command",
            "Cancel the task of an environment on a server: it ends at its next safe point.",
        ),
        "resume": (
            "env_tasks:resume_command",
            "Go on with a task that was interrupted, where it was: nothing that was done is done again.",
        ),
        "resolve": ("env_tasks:resolve_command", "Decide about an effect of which nobody knows whether it was done."),
    },
    "Taking along": {
        "report": (
            "env_history:report_command",
            "Write what helps others to find out what is wrong with an environment into an archive.",
        ),
        "export": ("env_history:export_command", "Write an environment with its states and packages into an archive."),
        "import": ("env_history:import_command", "Make an environment from what 'vetro env export' wrote."),
    },
}
#: What `vetro` itself offers, too.
SHORT: Table = {
    "action": (
        "env_lifecycle:action_command",
        "Run a public method of an application; its result goes to standard output.",
    ),
    "start": ("env_power:start_command", "Start servers that do not run, those first that others need."),
    "stop": ("env_power:stop_command", "Stop servers, those last that others need; they keep their disks."),
    "restart": ("env_power:restart_command", "Restart servers: all are stopped before the first is started."),
    "log": ("env_tasks:log_command", "Print what the tasks of an environment reported and logged, oldest first."),
    "history": (
        "env_history:history_command",
        "List the states of an environment, or show what changed between two of them.",
    ),
    "plan": ("env_history:plan_command", "Show what deploying an environment would do; nothing is changed."),
}


@click.group("env", cls=Commands, sections=SECTIONS, short=SHORT)
def command() -> None:
    """Look at environments and change them.

    They are those of the context in use: of this machine's workspace, or of a server (see 'vetro context').

    \b
    Examples:
      vetro env list
      vetro env show shop
      vetro env health shop
      vetro env remove shop db
      vetro env destroy shop
    """
