"""The form session: forms that people fill in, kept on the server from the first page to the object that they make.

A form in work is a *draft* (`models.FormDraft`, encrypted): it survives a reload, belongs to one person, and goes away
when its session does or after `DAYS`. All functions are in `form_session`; they take the `Caller`, give a `FormView`
(what a page or client shows) and raise `NotFound` for a draft of somebody else, `Invalid`,
`vetro.forms.sessions.FormFailed` (the package's fault, or no answer in time: show the message; ``details["author"]`` is
for the author of the package, ``details["sources"]`` names what can be begun instead), `FormChanged` (another window
was faster: show the form anew), `Unavailable` (too many ask at once). After an error the draft is as it was. No
expression of a package runs in this process, and none of this may be called inside of a transaction::

    form_session.begin(caller, *, environment_id=None, session_id=None, package=None, class_name=None, version=None,
               object_id=None, action=None, method=None, source="auto", into=None, template=None, tried=False)
               -> FormView
        add      package=<id of a catalog package>, or class_name=<class> (version: spec)
        edit     object_id=<any object of the session's draft>
        action   action=<action id of the deployed environment>  (no session)
        static   class_name=<class>, method=<public static method>  (no environment)
        For add without environment_id the wizard is "quick": `finish` makes an environment. Without session_id, and
        when the session got stale, it is the person's newest usable session, else `finish` opens one.
        source: auto | definition | class.
        tried: a new object that is only tried out: filled in and planned, no environment is made; it is kept for an
        hour after the last answer, and `mine` does not name it. What is begun ``into`` it is tried out, too.
        template: id of a template of the project, for add and edit: the object is one of its components then.
        into: id of another draft: this wizard was opened from a field of it (its box "stay" is left out).
    form_session.take(caller, id) -> FormView      what was tried out becomes a "quick" form with the same answers
    form_session.settle(caller, id) -> FormView    the quick wizard's environment is made now, for objects to go there
    form_session.describe(caller, id, page=None) -> FormView           the page that is due, or a look at another one
    form_session.evaluate(caller, id, answers, *, page=None, partial=False, preset="") -> FormView
        keeps unsent answers (autosave) and computes anew what depends on them. Complains about nothing.
        preset: the name of one of Form.presets, whose values are put into the form then.
    form_session.validate(caller, id, answers, *, page=None, path=None) -> Sequence[Diagnostic]     keeps nothing
    form_session.submit(caller, id, answers, *, page=None, partial=False) -> FormView
        outcome "invalid": problems stand at the fields, on the page and in `FormView.problems`; "next": the next page;
        "ready": everything is answered and the real contracts agree: show `review`, then `finish`.
    form_session.back(caller, id, page) -> FormView                     makes an earlier page due; nothing is lost
    form_session.review(caller, id) -> Sequence[ReviewPage]     what was answered, as text, by page; secrets as dots
    form_session.plan(caller, id, *, again=False) -> Task | None     what deploying would do then, as a task of its own
    form_session.planned(caller, id) -> Task | None                  the one that was begun for the form as it is
    form_session.finish(caller, id, *, revision=None) -> FormResult
        puts the object into the session / starts the action, and removes the form. Needs rule update_environment,
        create_environment or execute_action. An object that was changed in the draft since the form was begun keeps
        those changes; `DraftChanged` (with ``details["paths"]``) where the form changed the same values.
    form_session.switch(caller, id, source) -> FormView     the other tab: "definition", "class" (of FormView.sources)
    form_session.start_from(caller, id, builder, answers=None) -> FormView
        runs a model builder (one of FormView.builders), loads its result; `form_session.builder_form(caller, id,
        builder, answers=None)` gives the Form of its own arguments (without fields: call at once), filled in with
        answers. Problems of these: outcome "invalid", and the problems are in `FormView.problems` with paths into the
        builder's answers.
    form_session.choices(
        caller, id, path, *, what="existing", search="", cursor="", page=None, builder=""
    ) -> ChoiceList
        path: JSON pointer of a field into the answers ("/host", "/hosts/0/image"); what: existing (objects of the
        environment), types (classes for a new object), choices (of any other field). Paged: give `next` as cursor.
        builder: the field is one of this model builder's own form.
    form_session.password(caller, id, path, *, page=None, builder="") -> str
        a new password by the rules of a secret field; nothing keeps it until it is an answer.
    form_session.discard(caller, id) -> None
    form_session.mine(caller, environment_id=None) -> list[dict]   drafts of the person, newest first: {id, title, …}

Answers are JSON by field name: those of *one page*, complete: a field that is shown, not read-only and missing counts
as emptied (``partial=True``: as unchanged). Pages of text inputs read them with `vetro.forms.entry.read`; the pages of
definitions take texts as they are. A secret that is kept is the marker that the form showed, ``{"secret": "kept",
"at": …}``. A reference is the id of an object, ``{"?": {"type": T}, …fields}`` for a new one (the next `FormView`
has its id in the header and its fields as sections; keep the id), or None.

``FormView`` (all plain, immutable)::

    id, purpose ("add"|"edit"|"action"|"static"|"try"), source ("definition"|"class"|"method")
    sources: other sources that `switch` takes; reason: why the definition is not among them
    form: vetro.forms.model.Form; the due page has its fields, filled in; pages not yet due only names and titles
    page: number of the page that is shown (form.pages[page]); pages_done: numbers that may be gone back to
    outcome: "shown" | "next" | "invalid" | "ready"
    problems: those of the shown page (and of its fields)
    builders: Sequence[model.Choice] ("start from"); title; package: {id, fqn, name, version} or None
    environment_id, session_id, object_id (of the object that is edited or was made), revision, kept (date of last save)

``FormResult``: purpose, environment_id, session_id, object_id, task_id (actions: wait for it with
`vetro.server.tasks.wait.wait`), stay (the person wants to go on adding).

``ReviewPage``: title, rows: [(label, text, path)], own: paths of
what is other than suggested, before: path -> what was there, of what an edit changes (None: nothing is edited).
``ChoiceList``: items: Sequence[model.Choice], next: cursor or None.

`media` finds the files of ``widgetMedia``: `media.find(name) -> (path or bytes, type) | None`,
`media.url(name) -> "/app/media/…" | None`; urls.py of the pages includes `vetro.server.forms.media.urlpatterns`.
"""

#: A draft that nobody touched for so many days is removed.
DAYS = 30
