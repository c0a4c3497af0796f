"""Where an answer is meant to differ from the recording, and why (docs/decisions/0011-the-recorded-api.md).

Whatever is not in this table has to be as recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tests.acceptance.golden.compare import Allowed
from tests.acceptance.golden.expected import (
    FROM_TEMPLATE,
    MENDED,
    Response,
    answered,
    as_default,
    as_good,
    ended,
    failed_report,
    not_empty_list,
    posted,
    recorded,
    refused,
    renamed,
    second_version,
    two_versions,
    without_empty,
)
from tests.acceptance.golden.recording import Exchange


@dataclass(frozen=True)
class Then:
    """A request that the recording lacks, sent after an exchange so that what follows finds what it found there."""

    actor: str
    #: '' repeats the upload without its second part.
    method: str
    path: str = ""
    #: Placeholder for the id in the answer.
    binds: str = ""


@dataclass(frozen=True)
class Case:
    """Exchanges that are answered otherwise, and how."""

    places: Mapping[str, Iterable[int]]
    #: The expected answer, made from the recorded one.
    change: Callable[[Exchange, Response], Response] | None = None
    allowed: Allowed = field(default_factory=Allowed)
    then: Sequence[Then] = ()


class Deviation:
    """A decision: ``why`` is the document that takes it, a colon, and how it is; and where it shows."""

    def __init__(self, why: str, *cases: Case) -> None:
        self.why = why
        self.cases = cases


_SCHEMA_KEYS: Final = ("version", "context", "minLength", "maxLength", "minItems", "maxItems")
_RANDOM: Final = r".*\.(joined|value|rnd)"
_STACK_NAME: Final = r".*\.generatedHeatStackName"
_DEPENDENCIES: Final = r".*\.regions\.[^.]*\.\?\.dependencies"

#: What may differ everywhere.
EVERYWHERE: Final = Allowed(
    more=(
        # API.md 3: packages tell their version.
        r"\$(\.packages\[\d+\])?\.version",
        # SEMANTICS 13.3 keeps a subscription in its publisher's header; the old engine left out those of objects that
        # are not part of the model.
        _DEPENDENCIES,
    ),
    # DESIGN, "Addresses": discovery lists v2 after v1.0.
    contains=(r"\$\.versions",),
)

DEVIATIONS: Final[tuple[Deviation, ...]] = (
    Deviation(
        "DESIGN: what is no usable request is 400 everywhere, where Murano failed with 500",
        Case(
            {
                "02-categories": [23, 25],
                "05-packages-upload": [18, 20, 29],
                "10-environments": [9],
                "13-model": [23],
                "31-static-actions": [19],
            },
            refused(400),
        ),
    ),
    Deviation(
        "DESIGN: what is not there is 404 everywhere, where Murano failed with 500",
        Case({"12-services": [34, 37, 40], "13-model": [24], "31-static-actions": [10]}, refused(404)),
    ),
    Deviation(
        "DESIGN: a body of another type is 415 everywhere, where Murano failed with 500",
        Case({"13-model": [25]}, refused(415)),
    ),
    Deviation(
        "DESIGN: a name that is taken is 409 everywhere, where Murano failed with 500",
        Case({"34-templates": [20]}, refused(409)),
    ),
    Deviation(
        "DESIGN: below `/v2` are calls of our own, where Murano answered with its versions",
        Case(
            {"01-discovery": [5]}, answered({"items": [], "total": 0, "next": None}, "application/json; charset=utf-8")
        ),
    ),
    Deviation(
        "API.md 1 [bug]: XML is 406 like any other type, where Murano served parts of it",
        Case({"01-discovery": [23]}, refused(406)),
    ),
    Deviation(
        "API.md 3 [bug]: a second part that is no JSON is 400, where Murano ignored it",
        Case({"05-packages-upload": [9]}, refused(400), then=[Then("demo", "")]),
    ),
    Deviation(
        "API.md 3: a second part of a wrong type is 400, a list as well",
        Case({"05-packages-upload": [10]}, refused(400)),
    ),
    Deviation(
        "API.md 3 [bug]: an empty name is 400",
        Case({"06-packages-update": [37]}, refused(400)),
    ),
    Deviation(
        "RECORDING.md: among equals (of one package count, name or second) no order is promised, nor by random ids",
        Case(
            {"02-categories": [11], "04-packages-search": [9], "08-packages-upload-parts": [6, 7, 13], "40-cli": [54]},
            allowed=Allowed(
                free=("\\$\\.next_marker", "\\$\\.categories\\[[12]\\].*"), unordered=("\\$\\.(packages|deployments)",)
            ),
        ),
    ),
    Deviation(
        "PACKAGES 4: the generated form of a HOT package is another text that asks the same",
        Case({"03-packages": [9]}, allowed=Allowed(whole=True)),
    ),
    Deviation(
        "API.md 3: the parameter `version` chooses, as a specification; Murano ignored it",
        Case({"04-packages-search": [52, 53]}, answered({"packages": []})),
        Case(
            {"05-packages-upload": [47]},
            answered(renamed),
            then=[Then("demo", "DELETE", "/v1/catalog/packages/id-9001")],
        ),
    ),
    Deviation(
        "PACKAGES 2: a manifest without `Description` or `Author` has none, where Murano said OpenStack wrote it",
        Case(
            {
                "05-packages-upload": [25, 30, 33, 34],
                "08-packages-upload-parts": [20],
                "40-cli": [0],
                "41-cli-nokeystone": [1, 9],
                "42-osc": [1],
            },
            allowed=Allowed(free=("\\$(\\.packages\\[\\d+\\])?\\.(description|author)",)),
        ),
    ),
    Deviation(
        "DESIGN: versions of one package stand side by side, and all are listed; Murano answered 409",
        Case({"05-packages-upload": [44]}, second_version),
        Case({"05-packages-upload": [45]}, answered(two_versions)),
    ),
    Deviation(
        "API.md 5 [bug]: who chooses the id or version of an environment gets 400, and there is none",
        Case({"10-environments": [43]}, refused(400)),
        Case({"10-environments": [44, 45]}, refused(404)),
    ),
    Deviation(
        "API.md 7 [bug]: without applications, paths below `services` are 404, where Murano answered `[]`",
        Case({"12-services": [4, 29]}, refused(404)),
    ),
    Deviation(
        "API.md 7 [bug]: what is no application, or has the id of another one, is 400 and is not stored",
        Case({"12-services": [8, 12, 15]}, refused(400)),
        Case({"12-services": [13]}, answered([])),
        Case({"12-services": [19]}, answered(posted("12-services", 7, 9))),
        Case({"12-services": [38]}, answered(MENDED)),
        Case({"12-services": [41]}, answered(MENDED[1:])),
    ),
    Deviation(
        "API.md 7 [leak]: nobody writes through the session of another user (403)",
        Case({"12-services": [17]}, refused(403)),
    ),
    Deviation(
        "API.md 7 [leak]: nobody writes through the session of another environment (400)",
        Case({"12-services": [18]}, refused(400)),
    ),
    Deviation(
        "API.md 7 [bug]: a `PUT` without a body is 400 and changes nothing, where Murano removed all applications",
        Case({"12-services": [44]}, refused(400)),
        Case({"12-services": [45]}, answered(recorded("12-services", 43))),
    ),
    Deviation(
        "API.md 7 [bug]: a `POST` to a path below `services` is 404, where Murano did nothing (200)",
        Case({"12-services": [49]}, refused(404)),
    ),
    Deviation(
        "API.md 7 [bug]: `PUT` of `false` stores false, where Murano stored `[]`",
        Case({"22-deploy-fail": [13]}, answered(False)),
        Case({"22-deploy-fail": [16], "40-cli": [54]}, answered(not_empty_list)),
    ),
    Deviation(
        "API.md 8 [bug]: `?service_id=` chooses the reports of an application, where Murano answered 400",
        Case({"20-deploy-success": [25]}, answered({"reports": recorded("20-deploy-success", 24)["reports"][1:3]})),
    ),
    Deviation(
        "API.md 8, 12 [leak]: reports and statistics of other projects are 403",
        Case({"20-deploy-success": [30], "33-statistics": [5]}, refused(403)),
    ),
    Deviation(
        "API.md 12 [leak]: statistics of an environment that there is not are 404",
        Case({"33-statistics": [4]}, refused(404)),
    ),
    Deviation(
        "API.md 13 [bug]: a deployment of unmatched versions fails or takes the newest, where Murano never ended it",
        Case({"23-deploy-variants": [48]}, answered(failed_report)),
        Case({"23-deploy-variants": [81]}, answered(as_good(88))),
        Case({"23-deploy-variants": [83]}, answered(as_good(90))),
        Case(
            {
                "23-deploy-variants": [46, 47, 82],
                "40-cli": [29, 34, 36, 38, 54, 81, 82, 85],
                "41-cli-nokeystone": [0, 6, 7, 8],
                "42-osc": [0],
            },
            answered(ended),
        ),
    ),
    Deviation(
        "DESIGN: every public method that is named has a schema, where Murano gave those of model builders",
        Case({"32-schemas": [2, 3, 5]}, allowed=Allowed(more=("\\$\\.(sayHello|staticEcho)",))),
    ),
    Deviation(
        "DESIGN: the schema of a model builder leaves out its first parameter, which is not asked for",
        Case(
            {"32-schemas": [0, 1, 3, 7, 8, 9], "40-cli": [62, 63], "42-osc": [2]},
            allowed=Allowed(free=("\\$\\.makeModel\\.properties\\.name",)),
        ),
    ),
    Deviation(
        "DESIGN: schemas also say versions, contexts and lengths",
        Case(
            {"32-schemas": [0, 7, 8, 9, 12, 13], "40-cli": [62], "42-osc": [2]},
            allowed=Allowed(more=(f".*\\.({'|'.join(_SCHEMA_KEYS)})",)),
        ),
    ),
    Deviation(
        "PACKAGES 4: a parameter of a HOT package may be left to the template, so its choices have null, too",
        Case({"32-schemas": [14]}, allowed=Allowed(contains=(".*\\.enum",))),
    ),
    Deviation(
        "API.md 11 [leak]: nobody changes or deletes a public template of another project (403)",
        Case({"34-templates": [24]}, refused(403)),
        Case({"34-templates": [66]}, refused(403), then=[Then("demo", "DELETE", "/v1/templates/id-0267")]),
    ),
    Deviation(
        "API.md 11 [bug]: what is no application is 400 in templates, too, and is not stored",
        Case({"34-templates": [31]}, refused(400)),
        Case({"34-templates": [32, 38, 40, 41, 42, 57], "40-cli": [54]}, answered(without_empty)),
        Case({"34-templates": [54]}, answered(FROM_TEMPLATE)),
        Case({"34-templates": [55]}, answered(FROM_TEMPLATE["services"])),
    ),
    Deviation(
        "RECORDING.md: a session that was opened by a command that was not recorded",
        Case({"40-cli": [42]}, then=[Then("demo", "POST", "/v1/environments/id-0287/configure", binds="id-0291")]),
    ),
    Deviation(
        "PACKAGES 4: parameters of a HOT package that are not given have the template's defaults; Murano failed",
        *(
            Case(
                {"50-heat": [first + number]},
                answered(as_default(like + number, environment, name)),
                allowed=Allowed(free=(_STACK_NAME,), kinds=(_RANDOM,)),
            )
            for first, like, environment, name in (
                (26, 132, 329, "heat-hot"),
                (114, 105, 419, "hot-simple-defaults"),
                (141, 132, 448, "heat-hot"),
            )
            for number in range(4)
        ),
    ),
    Deviation(
        "RECORDING.md: values of `OS::Heat::RandomString`",
        Case(
            {"50-heat": [85, 88, 90, 92, 94, 95, 97, 99, 105, 108, 132, 135, 168, 171, 177, 180, 182, 185, 186, 188]},
            allowed=Allowed(kinds=(_RANDOM,)),
        ),
    ),
    Deviation(
        "RECORDING.md: two applications write one resource of one stack, and which is later may differ",
        Case(
            {"50-heat": [177, 180, 182]},
            allowed=Allowed(kinds=(".*\\.services\\[0\\]\\.outputs\\.tr|\\$\\[0\\]\\.outputs\\.tr",)),
        ),
    ),
    Deviation(
        "CORE_LIBRARY, CloudRegion: the stack of an environment is described in words of our own",
        Case({"50-heat": [99]}, allowed=Allowed(kinds=("\\$\\.result\\.current\\.description",))),
    ),
    Deviation(
        "DESIGN: an application of a HOT package shows the name of its stack, as documented; Murano left it null",
        Case({"50-heat": [105, 108, 132, 135]}, allowed=Allowed(free=(_STACK_NAME,))),
    ),
    Deviation(
        "RECORDING.md: counts of requests and the load of the machine",
        Case(
            {"33-statistics": [6]},
            allowed=Allowed(kinds=("\\$\\[0\\]\\..*(count|time|per_second|per_tenant|percent)",)),
        ),
    ),
)


def of(exchange: Exchange) -> list[Case]:
    """How an exchange is answered otherwise."""
    return [case for one in DEVIATIONS for case in one.cases if exchange.index in case.places.get(exchange.file, ())]
