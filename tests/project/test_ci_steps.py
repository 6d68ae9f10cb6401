"""Scripts that the workflows call: the steps of .ci/run, and release notes."""

import re
import subprocess

from paths import ROOT


def _named_by_run() -> list[str]:
    run = ["bash", str(ROOT / ".ci" / "run"), "no-such-step"]
    said = subprocess.run(run, capture_output=True, text=True)
    assert said.returncode == 2
    return said.stderr.partition("name some of: ")[2].split()


def test_every_step_belongs_to_one_job_of_the_workflow():
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    jobs = re.search(r"        steps:\n((?: {10}- .*\n)+)", workflow)
    assert jobs is not None
    in_jobs = [name for job in jobs[1].splitlines() for name in job.split()[1:]]
    assert sorted(in_jobs) == sorted(_named_by_run())


def test_every_step_that_can_be_named_is_run():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^ *step ([\w-]+) \"", script, re.M)) == sorted(_named_by_run())


def test_release_notes_are_a_section_of_the_changelog_with_links_to_the_tag():
    script = ROOT / ".ci" / "release-notes"
    notes = subprocess.run([script, "0.2.0", "https://host/docs"], capture_output=True, text=True)
    assert notes.returncode == 0
    changelog = (ROOT / "docs" / "changelog.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (\S+).*\n((?:(?!## ).*\n)*)", changelog, re.M))
    assert notes.stdout.replace("https://host/docs/", "").strip() == sections["0.2.0"].strip()
    links = re.findall(r"\]\(([^)]*)\)", notes.stdout)
    assert links
    assert all(link.startswith("https://host/docs/") for link in links)

    unknown = subprocess.run([script, "9.9.9", "https://host"], capture_output=True, text=True)
    assert unknown.returncode == 1
    assert "no section 9.9.9" in unknown.stderr
