"""What `vetro form` does: which form, who fills it in, where the result goes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from vetro.cli import output as out
from vetro.cli.client import find
from vetro.cli.deploy_target import TargetError, needed_packages
from vetro.cli.forms.answers import Given, check_pages, filled, free_name, kept_answers, read_answers, write_answers
from vetro.cli.forms.dialogue import Dialogue
from vetro.cli.forms.html import html_page
from vetro.cli.forms.preview import text_lines, whole
from vetro.cli.forms.prompts import Create
from vetro.cli.forms.subject import Subject, form_session_of, sorted_targets, subject_of, with_environment
from vetro.cli.forms.terminal import Terminal
from vetro.cli.package_paths import extended, load_packages, source_finder
from vetro.cli.package_queries import given_of, launcher
from vetro.cli.plaindata import DataError
from vetro.data_classes import dataclass
from vetro.diagnostics import Diagnostic, Text
from vetro.forms.sessions import ClassFormSession, FormFailed, FormSession, Work
from vetro.model.header import class_of, id_of
from vetro.muranopl.declarations.tree import Position
from vetro.muranopl.errors import MuranoError
from vetro.yaql.didyoumean import suggest


def run(
    targets: Sequence[str],
    *,
    others: Sequence[str],
    source: str,
    answers: str | None,
    pairs: Sequence[str],
    ask: bool | None,
    everything: bool,
    env_name: str | None,
    edit: str | None,
    start_from: str | None,
    arguments: Sequence[str],
    preset: str | None,
    preview: str | None,
    workspace: str | None,
    output: str,
) -> None:
    """See `vetro.cli.commands.form`."""
    from vetro.cli.client.connect import open_local
    from vetro.cli.forms.target import LocalTarget
    from vetro.cli.forms.tasks import FormTasks

    with ExitStack() as stack:
        with out.explained(), _bad_data():
            client = stack.enter_context(open_local(workspace))
            row = find.environment(client, env_name) if env_name is not None else None
            paths, file, wanted = sorted_targets(targets)
            named = load_packages(paths)
            used = client.package_paths(row["id"]) if row is not None else []
            known = with_environment([*named, *load_packages(others)], used)
            everywhere, _ = extended(known)
        stack.enter_context(out.explained(source_finder(known)))
        stack.enter_context(_bad_data())
        processes = stack.enter_context(launcher(known, client, definitions=True))
        with FormTasks(processes, everywhere, given_of(client)) as tasks:
            local = LocalTarget(tasks, everywhere, client, row)
            subject = subject_of(named or known, known, file, wanted, local, edit)
            try:
                form_session = form_session_of(local, subject, source, checked=preview is None)
                given = read_answers(answers, pairs, texts=form_session.source == "definition")
                work = _begun(form_session, subject)
                asked = sys.stdin.isatty() and answers != "-" if ask is None else ask
                if start_from is not None:
                    about = read_answers(None, arguments, texts=False)
                    work = _started(
                        form_session,
                        work,
                        subject,
                        local,
                        start_from,
                        partial(_filled, about, asked and preview is None),
                    )
                if preset is not None:
                    work = form_session.preset(work, preset)
                if preview is not None:
                    _preview(form_session, work, given, preview)
                    return
                create = _maker(local, known, everything) if row is not None else None
                work = (
                    _asked(form_session, work, given, answers, everything, create)
                    if asked
                    else taken(form_session, work, given)
                )
                made = form_session.result(work)
            except FormFailed as error:
                _author(error)
            finally:
                local.close()
            if row is None:
                out.print_data(made, output)
            else:
                client.require_free(row["id"])
                _put(local, row["name"], made, known, subject)


# -- who fills it in ---------------------------------------------------------------------------------------------------


def _begun(form_session: FormSession, subject: Subject) -> Work:
    return form_session.begin(subject.stored) if isinstance(form_session, ClassFormSession) else form_session.begin()


def _filled(given: Given, asked: bool, form_session: FormSession, work: Work) -> Work:
    """The arguments of a model builder."""
    return _asked(form_session, work, given, None, False) if asked else taken(form_session, work, given)


def _asked(
    form_session: FormSession,
    work: Work,
    given: Given,
    path: str | None,
    everything: bool,
    create: Create | None = None,
) -> Work:
    """Filled in by the person at the terminal. When it does not come to an end, the answers are kept."""
    dialogue = Dialogue(form_session, work, given, Terminal(), everything=everything, create=create)
    try:
        return dialogue.run()
    except (KeyboardInterrupt, EOFError) as error:
        out.note("")
        _kept(dialogue, given, path)
        if isinstance(error, EOFError):
            out.fail("the input ended before the form was filled in")
        out.fail("interrupted", status=out.INTERRUPTED)
    except FormFailed:
        _kept(dialogue, given, path)
        raise


def _kept(dialogue: Any, given: Given, path: str | None) -> None:
    answers = kept_answers(dialogue.form_session, dialogue.work, given)
    if not answers:
        return
    file = path if path not in (None, "-") else free_name(dialogue.form_session.form(dialogue.work).title)
    assert file is not None
    write_answers(file, answers)
    out.note(f"what was answered is in {file}; go on with --answers {out.quoted(file)}")


def taken(form_session: FormSession, work: Work, given: Given) -> Work:
    """Filled in with the given answers alone. Ends the command when they do not do."""
    turn, form = filled(form_session, work, given)
    if turn.outcome == "ready":
        return turn.work
    page = form.pages[form_session.page(turn.work)]
    for problem in turn.problems:
        out.note(out.style("error: ", fg="red", bold=True) + _place(form.source, page.name, problem) + problem.message)
    out.fail(
        f"{out.plural(len(turn.problems), 'answer')} must be mended", "use --set or --answers; --ask asks for them"
    )


def _started(
    form_session: FormSession,
    work: Work,
    subject: Subject,
    place: Any,
    builder: str,
    fill: Callable[[FormSession, Work], Work],
) -> Work:
    """The work with what a model builder makes of its own arguments, for which ``fill`` asks.

    Raises `TargetError`, `FormFailed`, `BadBuilderResult`.
    """
    if not isinstance(form_session, ClassFormSession) or subject.class_name is None:
        raise TargetError("only a form made from a class starts from a model builder", hint="add '--form class'")
    package = subject.package
    version = f"=={package.version}" if package is not None else None
    home = package.name if package is not None else None
    schemas = place.catalog.schemas(subject.class_name, version, home) or {}
    known = [str(choice.value) for choice in form_session.builders(schemas)]
    if builder not in known:
        meant = suggest(builder, known)
        hint = f"did you mean '{meant}'?" if meant else f"there are: {', '.join(known) or '-'}"
        text = Text("{name} has no model builder '{builder}'", name=subject.class_name, builder=builder)
        raise TargetError(text, hint=hint)
    schema = schemas[builder]
    asked = place.method_form_session(schema)
    args = asked.result(fill(asked, asked.begin()))

    def call(given: Mapping[str, Any]) -> Any:
        return place.build(subject.class_name, version, home, builder, given)

    return form_session.start_from(work, schema, args, call).work


def _place(source: str, page: str, problem: Diagnostic) -> str:
    steps = problem.place.split("/")[1:]
    name = ".".join([page, *steps] if source == "definition" else steps)
    return f"{name}: " if steps or source == "definition" else ""


def _author(error: FormFailed) -> NoReturn:
    """Ends the command with what the author of a package wants to know of a form that cannot be used."""
    told = error.author
    if told is None:
        out.fail(error.message, error.hint)
    place = told.get("position")
    shown = MuranoError(
        str(told.get("message") or error.message),
        position=Position(**place) if isinstance(place, dict) else None,
        hint=told.get("hint") or None,
    )
    shown.code = str(told.get("code") or error.code)  # type: ignore[misc]
    out.print_error(shown, None)
    sys.exit(out.FAILED)


def _maker(place: Any, known: Sequence[Any], everything: bool) -> Create:
    """What makes an application for a field of a definition, in the environment of ``place``, asking for its form."""

    def create(name: str) -> str | None:
        homes = [package for package in known if package.name == name]
        if not homes:
            return None
        package = max(homes, key=lambda one: one.version)
        class_name = package.name if package.name in package.classes else None
        subject = Subject(package, class_name, package.ui, f"{out.shown(package.location)}/UI/ui.yaml")
        form_session = form_session_of(place, subject, "auto", checked=True)
        made = form_session.result(_asked(form_session, form_session.begin(), {}, None, everything, create))
        _put(place, place.row["name"], made, known, subject)
        place.renew()
        return str(id_of(made))

    return create


# -- where it goes -----------------------------------------------------------------------------------------------------


def _preview(form_session: FormSession, work: Work, given: Given, target: str) -> None:
    check_pages(form_session.form(work), given)
    form = whole(form_session, work, given)
    if target == "-":
        for line in text_lines(form):
            out.echo(line)
    else:
        Path(target).write_text(html_page(form), encoding="utf-8")
        out.note(f"{out.plural(len(form.pages), 'page')} in {target}")
    if any(problem.code == "failed" for page in form.pages for problem in page.problems):
        sys.exit(out.FAILED)


def _put(place: Any, name: str, made: Any, packages: Sequence[Any], subject: Subject) -> None:
    from vetro.cli.forms.target import with_object

    needed = needed_packages(packages, _Named(class_of(made)), with_object(place.environment, made))
    for change in place.put(made, needed):
        out.note(change)
    verb = "changed" if subject.stored is not None else "added"
    out.note(f"{verb} {class_of(made)} in environment '{name}'; vetro env deploy {name} deploys it")


@dataclass(frozen=True, slots=True)
class _Named:
    name: str


@contextmanager
def _bad_data() -> Iterator[None]:
    try:
        yield
    except DataError as error:
        out.fail(error.message, error.hint)
