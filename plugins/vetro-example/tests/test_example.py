"""The tests of the example. Install it beside Vetro first: ``pip install -e .``"""

from __future__ import annotations

from collections.abc import Mapping

from vetro.muranopl.runtime.effects import InProcessEffects
from vetro.packages.conformance import PackageFormatConformance
from vetro.packages.extensions.plugins import load_extensions
from vetro_example.notice import NoticePackage
from vetro_example.quotes import Quotes, day_of_year


class TestNotice(PackageFormatConformance):
    format = "Example.Notice/1.0"
    factory = NoticePackage
    distribution = "vetro-example"

    def files(self) -> Mapping[str, str | bytes]:
        return {
            "manifest.yaml": "Format: Example.Notice/1.0\nType: Application\nFullName: com.example.Notice\n",
            "notice.yaml": "title: Hi\nlines: [\"$.a\", 'it''s', \"on\"]\n",
        }


def test_the_extension_is_a_package() -> None:
    loaded = load_extensions(["vetro-example"])
    assert loaded.notes == ()
    (package,) = loaded.packages
    assert list(package.classes) == ["example.Quotes", "io.murano.extensions.example.Quotes"]


def test_the_effect_is_performed_by_the_host() -> None:
    effects = InProcessEffects()
    load_extensions(["vetro-example"]).register_effects(effects)
    assert 1 <= effects.perform("0/1", day_of_year.kind, {"args": [], "kwargs": {}}) <= 366


def test_quotes_begin_again() -> None:
    class Silent:
        def log(self, level: str, text: str) -> None: ...

    quotes = Quotes(Silent())  # type: ignore[arg-type]
    assert quotes.quote(0) == quotes.quote(2) != quotes.quote(1)
