"""References in a worker's file, resolved as by Kafka when they are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_connect_offsets.connect.storage.java.settings import Settings
from airflow_provider_connect_offsets.exceptions import InvalidInput
from tests.support.programs.java_program import ask_java

PROVIDERS = {
    "config.providers": "file, env,dir,vault,empty",
    "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    "config.providers.env.param.allowlist.pattern": "^(HOME|PATH|SOME_.*)$",
    "config.providers.dir.class": "org.apache.kafka.common.config.provider.DirectoryConfigProvider",
    "config.providers.vault.class": "com.example.VaultProvider",
}
JAVA = """
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.util.*;
import org.apache.kafka.common.config.*;

public class Program {
    public static void main(String[] files) throws Exception {
        ObjectMapper json = new ObjectMapper();
        Map<String, String> settings = json.readValue(new File(files[0]), Map.class);
        AbstractConfig config = new AbstractConfig(new ConfigDef(), settings, false);
        System.out.println(json.writeValueAsString(config.originals()));
    }
}
"""


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    """A directory with a properties file and a file of one value."""
    (tmp_path / "s.properties").write_text("user=me\npassword=a\\u00e9 é\nnested=${file:x:y}\n", encoding="utf-8")
    (tmp_path / "token").write_text("s3cret\n")
    return tmp_path


def settings(**values: str) -> Settings:
    """Return settings, with those of the providers."""
    return Settings({**PROVIDERS, **values}, "worker.properties")


def test_references_are_resolved_as_by_kafka(secrets: Path) -> None:
    """Several in one value, only once, and only references to declared providers; Kafka's own class agrees."""
    file = f"{secrets}/s.properties"
    values = {
        "one": f"${{file:{file}:user}}",
        "two": f"<${{file:{file}:user}}:${{file:{file}:password}}>",
        "nested": f"${{file:{file}:nested}}",
        "environment": "${env:HOME}",
        "directory": f"x${{dir:{secrets}:token}}",
        "undeclared": "${other:a:b}${file}$file:a}",
        "without.class": "${empty:a:b}",
        "odd": "${a${env:HOME}}",
    }
    known = {name: value for name, value in PROVIDERS.items() if "vault" not in name}
    every = {**known, **values, "config.providers": "file,env,dir,empty"}

    answers = ask_java(JAVA, secrets, every)

    resolved = Settings(every, "worker.properties")
    assert {name: resolved.get_untrimmed(name) for name in values} == {name: answers[name] for name in values}
    assert resolved.get("directory") == "xs3cret"  # as ConfigDef takes it
    assert resolved.get("two") == "<me:aé é>"


def test_what_cannot_be_resolved_is_reported_when_it_is_needed(secrets: Path) -> None:
    """The error has setting, reference and reason; the rest of the file can be used."""
    file = f"{secrets}/s.properties"
    for reference, reason in {
        f"${{file:{file}:none}}": "has no key 'none'",
        "${file:/none:a}": "Can't read the properties file /none",
        "${file:a}": "has no path of a file",
        "${dir:a}": "has no path of a directory",
        f"${{dir:{secrets}:none}}": "none can't be read: No such file",
        f"${{dir:{secrets}:../x}}": "can't be the name of a file",
        "${env:SOME_NONE}": "environment variable SOME_NONE is not set here",
        "${env:USER_NONE}": "does not allow this environment variable",
        "${env:a:HOME}": "have no path",
        "${vault:a:b}": "has the class com.example.VaultProvider",
    }.items():
        resolved = settings(fine="yes", bad=f"s3cret {reference}")
        assert resolved.get("fine") == "yes"
        with pytest.raises(InvalidInput) as caught:
            resolved.get("bad")
        assert f"worker.properties: bad refers to {reference}, which can't be resolved: " in str(caught.value)
        assert reason in str(caught.value)
        assert "s3cret" not in str(caught.value)


def test_allowed_paths_are_kept_to(secrets: Path) -> None:
    """A path that leads out of them is refused; an allowed directory must exist."""
    inner = secrets / "inner"
    inner.mkdir()
    (inner / "s.properties").write_text("a=1")
    allowed = {"config.providers.file.param.allowed.paths": str(inner)}

    assert settings(x=f"${{file:{inner}/s.properties:a}}", **allowed).get("x") == "1"
    for path in (f"{secrets}/s.properties", f"{inner}/../s.properties", f"{inner}x"):
        with pytest.raises(InvalidInput, match=r"outside of the provider's allowed\.paths"):
            settings(x=f"${{file:{path}:user}}", **allowed).get("x")
    with pytest.raises(InvalidInput, match="must be absolute and exist"):
        settings(x="${dir:/a:b}", **{"config.providers.dir.param.allowed.paths": "relative"}).get("x")


def test_a_bad_pattern_is_reported() -> None:
    """The error is ours, not Python's."""
    with pytest.raises(InvalidInput, match="isn't a regular expression"):
        settings(x="${env:A}", **{"config.providers.env.param.allowlist.pattern": "("}).get("x")
