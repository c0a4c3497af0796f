"""`sentence`: what an audit record says, in words. Whoever did it stands before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vetro.diagnostics import Text

#: What records of earlier versions may lack.
_GONE: Final = "…"
#: Action -> what somebody did; values are ``target`` and the details of the record.
SENTENCES: Final[Mapping[str, Text]] = {
    "environment.create": Text("created the environment '{target}'", target=_GONE),
    "environment.rename": Text("renamed the environment '{before}' to '{target}'", before=_GONE, target=_GONE),
    "environment.change": Text("changed what is said about the environment '{target}'", target=_GONE),
    "environment.deploy": Text("deployed the environment '{target}'", target=_GONE),
    "environment.destroy": Text("began to delete the environment '{target}' with all that is in it", target=_GONE),
    "environment.destroyed": Text("deleted the environment '{target}' with all that was in it", target=_GONE),
    "environment.delete": Text("deleted the environment '{target}', of which nothing was deployed", target=_GONE),
    "environment.abandon": Text("abandoned the environment '{target}'", target=_GONE),
    "environment.action": Text("ran an action in the environment '{target}'", target=_GONE),
    "environment.repair": Text("had the environment '{target}' repaired", target=_GONE),
    "environment.plan": Text("had a plan made for '{target}'", target=_GONE),
    "environment.start": Text("started servers of the environment '{target}'", target=_GONE),
    "environment.stop": Text("stopped servers of the environment '{target}'", target=_GONE),
    "environment.restart": Text("restarted servers of the environment '{target}'", target=_GONE),
    "environment.realize": Text("made the environment '{target}' real", target=_GONE),
    "environment.import": Text("imported the environment '{target}'", target=_GONE),
    "environment.export": Text("exported the environment '{target}'", target=_GONE),
    "environment.file.begin": Text("began to bring a file for an action of the environment '{target}'", target=_GONE),
    "environment.file.remove": Text("removed the files of actions of the environment '{target}'", target=_GONE),
    "environment.report": Text("took a report about the environment '{target}'", target=_GONE),
    "environment.guard": Text("began a guarded update of the environment '{target}'", target=_GONE),
    "environment.keep": Text("kept the update of the environment '{target}'", target=_GONE),
    "environment.undo": Text("took the update of the environment '{target}' back", target=_GONE),
    "session.open": Text("began to change the environment '{target}'", target=_GONE),
    "session.close": Text("gave up a draft of the environment '{target}'", target=_GONE),
    "session.change": Text("changed a draft of the environment '{target}'", target=_GONE),
    "session.migrate": Text("moved a draft of the environment '{target}' to another package", target=_GONE),
    "session.upgrade": Text("moved a draft of the environment '{target}' to newer packages", target=_GONE),
    "session.restore": Text("took an earlier state of the environment '{target}' into a draft", target=_GONE),
    "session.discard": Text("discarded the draft of somebody for the environment '{target}'", target=_GONE),
    "task.cancel": Text("asked a task to end ({target})", target=_GONE),
    "task.retry": Text("had a task done again ({target})", target=_GONE),
    "task.resolve": Text("decided what became of an effect of a task ({target})", target=_GONE),
    "task.call": Text("called {target}", target=_GONE),
    "server.command": Text("ran {program} on a server of the environment '{target}'", program=_GONE, target=_GONE),
    "template.create": Text("created the template '{target}'", target=_GONE),
    "template.update": Text("changed what is said about the template '{target}'", target=_GONE),
    "template.change": Text("changed the template '{target}'", target=_GONE),
    "template.clone": Text("copied a template as '{target}'", target=_GONE),
    "template.delete": Text("deleted the template '{target}'", target=_GONE),
    "package.import": Text("imported {target} {version}", target=_GONE, version=_GONE),
    "package.replace": Text("replaced {target} {version} by another archive", target=_GONE, version=_GONE),
    "package.mend": Text("mended what was known of {target} {version}", target=_GONE, version=_GONE),
    "package.force_version": Text(
        "let {target} {version} pass although its number is too low", target=_GONE, version=_GONE
    ),
    "package.change": Text("changed the package {target} {version}", target=_GONE, version=_GONE),
    "package.delete": Text("deleted the package {target} {version}", target=_GONE, version=_GONE),
    "package.impact": Text("had found out what {target} {version} would change", target=_GONE, version=_GONE),
    "category.create": Text("added the category '{target}'", target=_GONE),
    "category.rename": Text("renamed the category '{before}' to '{target}'", before=_GONE, target=_GONE),
    "category.delete": Text("deleted the category '{target}'", target=_GONE),
    "image.build": Text("began to build the image {target}", target=_GONE),
    "image.mark": Text("made forms offer the image {target}", target=_GONE),
    "image.unmark": Text("made forms offer the image {target} no more", target=_GONE),
    "login.password": Text("signed in with a password"),
    "login.keystone": Text("signed in through Keystone"),
    "login.link": Text("signed in with a link"),
    "login.slowed": Text("made wrong attempts to sign in as {target}, and has to wait now", target=_GONE),
    "login.refused": Text("made too many wrong attempts to sign in from one address"),
    "login.attacked": Text("tried to sign in as {target} from many addresses", target=_GONE),
    "token.create": Text("made a token, '{target}'", target=_GONE),
    "token.revoke": Text("revoked the token '{target}'", target=_GONE),
    "link.create": Text("made a link for signing in as {user}", user=_GONE),
    "user.create": Text("made an account for {target}", target=_GONE),
    "user.password": Text("changed the password of {target}", target=_GONE),
    "user.enable": Text("opened the account of {target}", target=_GONE),
    "user.disable": Text("locked the account of {target}", target=_GONE),
    "user.delete": Text("deleted the account of {target}", target=_GONE),
    "project.create": Text("made the project {target}", target=_GONE),
    "project.enable": Text("opened the project {target}", target=_GONE),
    "project.disable": Text("closed the project {target}", target=_GONE),
    "project.quota": Text("changed limits of a project"),
    "membership.grant": Text("made {target} {role} in {project}", target=_GONE, role=_GONE, project=_GONE),
    "membership.revoke": Text(
        "took the role {role} in {project} from {target}", role=_GONE, project=_GONE, target=_GONE
    ),
    "notice.target.added": Text("added the target of notices '{target}'", target=_GONE),
    "notice.target.changed": Text("changed the target of notices '{target}'", target=_GONE),
    "notice.target.removed": Text("removed the target of notices '{target}'", target=_GONE),
    "notice.target.rotated": Text("made a new secret for the target of notices '{target}'", target=_GONE),
    "notice.rule.added": Text("added a rule of notices to '{target}'", target=_GONE),
    "notice.rule.changed": Text("changed a rule of notices to '{target}'", target=_GONE),
    "notice.rule.removed": Text("removed a rule of notices to '{target}'", target=_GONE),
    "audit.export": Text("exported audit records"),
    "worker.drain": Text("asked the worker {target} to end", target=_GONE),
    "installation.mend": Text("mended what the doctor found ({target})", target=_GONE),
    "installation.clean": Text("dropped what was too old"),
    "database.backup": Text("saved the installation in a backup"),
    "database.restore": Text("made the installation from a backup"),
}


def sentence(action: str, target: str, details: Mapping[str, Any]) -> Text:
    """The sentence of a record; of an action that nobody knows (of a plug-in, or of another version) its code."""
    known = SENTENCES.get(action)
    if known is None:
        return Text("did {action} to {target}", action=action, target=target or _GONE)
    told = {**details, "target": target or _GONE}
    return known.filled(**{name: str(told[name])[:200] for name in known.values if name in told})
