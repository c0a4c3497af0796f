"""Our plug-ins, and plug-ins of strangers, sound and broken, in the hands of the command line."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path

import pytest

from tests.plugins.conftest import ROOT, Own, Run
from tests.support.fuzzing import every

PLUGINS = ("vetro-example", "vetro-murano-compat", "vetro-tosca")


def write(folder: Path, **files: str | bytes) -> Path:
    for path, data in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data if isinstance(data, bytes) else data.encode())
    return folder


def notice(folder: Path, lines: str = "[Closed on Sunday]") -> Path:
    manifest = "Format: Example.Notice/1.0\nType: Application\nFullName: com.example.Notice\n"
    return write(folder, **{"manifest.yaml": manifest, "notice.yaml": f"title: Hours\nlines: {lines}\n"})


def user(folder: Path) -> Path:
    """A MuranoPL package that uses the extension."""
    manifest = "Format: 1.4\nType: Application\nFullName: com.example.User\nRequire: {vetro-example: 0}\n"
    body = """\
Name: com.example.User
Extends: io.murano.Application
Properties:
  said: {Contract: $, Usage: Out}
Methods:
  deploy:
    Body:
      - $quotes: new('io.murano.extensions.example.Quotes', language => de)
      - $.said: [$quotes.quote(0), $quotes.quoteOfTheDay(), $quotes.languages(), $quotes.signed(1).by]
"""
    classes = "Classes: {com.example.User: User.yaml}\n"
    return write(folder, **{"manifest.yaml": manifest + classes, "Classes/User.yaml": body})


DEPLOY = """\
import json, sys
from vetro.muranopl import Engine
from vetro.muranopl.runtime.effects import InProcessEffects, RecordingEffects
from vetro.packages import load_path
from vetro.packages.extensions.plugins import required_extensions

packages = load_path(sys.argv[1])
extensions = required_extensions(packages)
effects = InProcessEffects()
extensions.register_effects(effects)
recording = RecordingEffects(effects)
session = Engine([*packages, *extensions.packages], natives=extensions.natives, effects=recording).session()
application = {"?": {"type": packages[0].name, "id": "app"}, "name": "n"}
environment = {"?": {"type": "io.murano.Environment", "id": "env"}, "name": "e", "applications": [application]}
session.load({"Objects": environment})
session.call("deploy", public_only=False)
model = session.finalize()["Objects"]["applications"][0]
print(json.dumps({"model": model, "kinds": [r.kind for r in recording.records], "notes": extensions.notes}))
"""


@pytest.mark.campaign
@pytest.mark.parametrize("name", every(3, PLUGINS))
def test_the_own_tests_of_the_plugin_pass(name: str, own: Own, run: Run, tmp_path: Path) -> None:
    if name == "vetro-tosca" and importlib.util.find_spec("translator") is None:
        pytest.fail("heat-translator is not installed; the extra 'test' has it")
    tests = tmp_path / "tests"
    shutil.copytree(ROOT / "plugins" / name / "tests", tests, ignore=shutil.ignore_patterns("__pycache__"))
    options = ["-q", "-p", "no:cacheprovider", "-W", "error", "-c", "/dev/null", "--rootdir", str(tests)]
    done = run("-m", "pytest", *options, str(tests), see=[own(name)])
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout and "skipped" not in done.stdout


def test_a_format_is_unknown_until_its_plugin_is_installed(own: Own, run: Run, tmp_path: Path) -> None:
    package = notice(tmp_path / "package")
    before = run("-m", "vetro", "check", str(package))
    assert before.returncode == 1
    assert "format Example.Notice/1.0.0 is unknown" in before.stdout
    assert "install the plug-in that registers 'Example.Notice'" in before.stdout
    after = run("-m", "vetro", "check", str(package), see=[own("vetro-example")])
    assert (after.returncode, after.stderr.strip()) == (0, "no problems found")


def test_a_package_of_a_plugin_runs(own: Own, run: Run, tmp_path: Path) -> None:
    package = notice(tmp_path / "package", '["$.x", 7]')
    application = {"?": {"type": "com.example.Notice", "id": "a"}, "name": "n"}
    environment = {"?": {"type": "io.murano.Environment", "id": "e"}, "name": "e", "applications": [application]}
    (tmp_path / "model.json").write_text(json.dumps({"Objects": environment}))
    command = ["-m", "vetro", "run", str(package), "--model", str(tmp_path / "model.json"), "--json"]
    done = run(*command, see=[own("vetro-example")])
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["Objects"]["applications"][0]["shown"] == ["$.x", "7"]
    assert "$.x" in done.stderr


def test_a_package_that_its_plugin_refuses_names_the_distribution(own: Own, run: Run, tmp_path: Path) -> None:
    notice(tmp_path / "packages" / "bad", "5")
    notice(tmp_path / "packages" / "good")
    done = run("-m", "vetro", "check", str(tmp_path / "packages"), see=[own("vetro-example")])
    assert done.returncode == 1 and "1 error" in done.stderr
    assert "(vetro-example) refuses the package: notice.yaml is malformed" in done.stdout
    assert "it needs a title and a list of lines" in done.stdout


def test_an_extension_class_is_used_by_packages(own: Own, run: Run, tmp_path: Path) -> None:
    package = user(tmp_path / "package")
    missing = run("-m", "vetro", "check", str(package))
    assert missing.returncode == 1 and "'vetro-example'" in missing.stdout
    checked = run("-m", "vetro", "check", str(package), see=[own("vetro-example")])
    assert (checked.returncode, checked.stderr.strip()) == (0, "no problems found")
    done = run("-c", DEPLOY, str(package), see=[own("vetro-example")])
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    first, today, languages, by = result["model"]["said"]
    assert first == "Frisch gewagt ist halb gewonnen." and today
    assert (languages, by) == (["de", "en"], "io.murano.extensions.example.Quotes")
    assert result["kinds"].count("plugin:vetro-example:day_of_year") == 1 and result["notes"] == []


# -- plug-ins of strangers --------------------------------------------------------------------------------------------


def stranger(folder: Path, name: str, code: str, points: str) -> Path:
    """A distribution, installed into ``folder``: a module and the metadata that installers write."""
    module = name.replace("-", "_")
    info = f"{module}-2.0.dist-info"
    return write(
        folder,
        **{
            f"{module}.py": code,
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.0\n",
            f"{info}/entry_points.txt": points.replace("MODULE", module),
        },
    )


#: As plug-ins for Murano are written.
OLD_PLUGIN = """\
from murano.packages import package


class Old(package.PackageBase):
    def __init__(self, format_name, runtime_version, source_directory, manifest):
        super(Old, self).__init__(format_name, runtime_version, source_directory, manifest)
        self._entry = manifest.get("EntryPoint", "main.yaml")

    @property
    def classes(self):
        return (self.full_name,)

    @property
    def ui(self):
        return None

    @property
    def requirements(self):
        return {}

    def get_class(self, name):
        return "Name: %s\\nProperties:\\n  entry: {Contract: $.string(), Default: %s}\\n" % (name, self._entry)
"""
OLD_POINTS = "[io.murano.plugins.packages]\nOld.Format/1.0 = MODULE:Old\n"
OLD_MANIFEST = "Format: Old.Format/1.0\nType: Application\nFullName: a.Old\nEntryPoint: x.yaml\n"


def test_existing_plugins_find_the_names_they_import(own: Own, run: Run, tmp_path: Path) -> None:
    site = stranger(tmp_path / "site", "old-plugin", OLD_PLUGIN, OLD_POINTS)
    package = write(tmp_path / "package", **{"manifest.yaml": OLD_MANIFEST})
    alone = run("-m", "vetro", "check", str(package), see=[site])
    assert alone.returncode == 1
    assert "format Old.Format/1.0.0 of old-plugin cannot be loaded: ModuleNotFoundError" in alone.stdout
    done = run("-m", "vetro", "schema", str(package), "a.Old", see=[site, own("vetro-murano-compat")])
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[""]["properties"]["entry"]["default"] == "x.yaml"


BROKEN = """\
from vetro.packages.plugin import Package, PackageBase


class Sound(PackageBase):
    classes = ["a.Sound"]
    ui = None

    def get_class(self, name):
        return "Name: a.Sound\\n"


class Raises(Sound):
    def __init__(self, *arguments):
        raise OSError("the service is away")


class Lacks(PackageBase):
    classes = ["a.Lacks"]
    ui = None


class Wrong(Sound):
    version = "1.0"


class Late(Sound):
    def get_class(self, name):
        raise KeyError(name)


class Foreign:
    def __init__(self, *arguments):
        pass
"""
KINDS = ("Sound", "Raises", "Lacks", "Wrong", "Late", "Foreign")


def test_broken_plugins_refuse_their_packages_only(run: Run, tmp_path: Path) -> None:
    points = "[io.murano.plugins.packages]\n" + "".join(f"{kind}/1.0 = MODULE:{kind}\n" for kind in KINDS)
    site = stranger(tmp_path / "site", "broken-plugin", BROKEN, points)
    for kind in KINDS:
        manifest = f"Format: {kind}/1.0\nType: Library\nFullName: a.{kind}\n"
        write(tmp_path / "packages" / kind, **{"manifest.yaml": manifest})
    done = run("-m", "vetro", "check", str(tmp_path / "packages"), "-o", "json", see=[site])
    found = {Path(p["path"]).name: p["message"] for p in json.loads(done.stdout)}
    assert sorted(found) == sorted(set(KINDS) - {"Sound"})
    assert all("broken-plugin" in message for message in found.values())
    assert "refuses the package: the service is away" in found["Raises"]
    assert "get_class" in found["Lacks"]
    assert "'version' of Wrong (broken-plugin) gave str instead of Version" in found["Wrong"]
    assert "'get_class' of Late (broken-plugin) failed with KeyError" in found["Late"]
    assert "does not derive from vetro.packages.plugin.Package" in found["Foreign"]


def test_a_broken_extension_leaves_the_others_usable(own: Own, run: Run, tmp_path: Path) -> None:
    points = "[io.murano.extensions]\nbroken.Thing = MODULE:Thing\n"
    site = stranger(tmp_path / "site", "broken-extension", "import no_such_module\n", points)
    see = [site, own("vetro-example")]
    code = "from vetro.packages.extensions.plugins import load_extensions as l; e = l(); print(e.packages, e.notes)"
    done = run("-c", code, see=see)
    assert "<extension package vetro-example>" in done.stdout
    assert "extension 'broken.Thing' of broken-extension is left out: ModuleNotFoundError" in done.stdout
    assert run("-c", DEPLOY, str(user(tmp_path / "package")), see=see).returncode == 0


def test_plugins_may_be_limited_by_name(own: Own, run: Run) -> None:
    code = """\
from vetro.packages.extensions.plugins import load_extensions, resolve_effect
print([p.name for p in load_extensions(["vetro_example"]).packages], load_extensions(["other"]).packages)
print(resolve_effect("plugin:vetro-example:day_of_year").policy)
"""
    done = run("-c", code, see=[own("vetro-example")])
    assert done.stdout == "['vetro-example'] ()\nconvergent\n", done.stderr


WRITE_SAMPLE = """\
import json, pathlib, sys, sample
folder = pathlib.Path(sys.argv[1])
folder.mkdir()
for path, data in sample.package(**json.loads(sys.argv[2])).items():
    (folder / path).write_bytes(data if isinstance(data, bytes) else data.encode())
"""


@pytest.mark.campaign
def test_a_tosca_package_is_checked_by_the_command_line(own: Own, run: Run) -> None:
    if importlib.util.find_spec("translator") is None:
        pytest.fail("heat-translator is not installed; the extra 'test' has it")
    see = [own("vetro-tosca"), ROOT / "plugins" / "vetro-tosca" / "tests"]
    for name, changes in (("good", {}), ("bad", {"Scripts/create.sh": None})):
        made = run("-c", WRITE_SAMPLE, name, json.dumps(changes), see=see)
        assert made.returncode == 0, made.stderr
    done = run("-W", "error", "-m", "vetro", "check", "good", see=see)
    assert (done.returncode, done.stderr.strip()) == (0, "no problems found"), done.stdout
    done = run("-m", "vetro", "check", "bad", see=see)
    assert done.returncode == 1 and "(vetro-tosca) refuses the package" in done.stdout
