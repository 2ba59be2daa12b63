"""The ten hosts, the seven capabilities, and every path generated for them (machine-protocol §9.2)."""

from __future__ import annotations

from typing import NamedTuple


class Capability(NamedTuple):
    """One thing a person can call by name inside a host. ``description`` is the one sentence a host shows."""

    name: str
    description: str


CAPABILITIES = (
    Capability(
        "slipway-run",
        "On explicit request only, start or resume one Slipway Run for a goal and drive it to its end.",
    ),
    Capability(
        "slipway-clarify",
        "On explicit request only, settle one genuine decision with the person, one question at a time.",
    ),
    Capability(
        "slipway-propose",
        "On explicit request only, turn an agreed draft into one managed issue after an exact preview.",
    ),
    Capability(
        "slipway-decompose",
        "On explicit request only, split one Objective into ordered Changes that each deliver alone.",
    ),
    Capability(
        "slipway-implement",
        "On explicit request only, carry out the current Implement Action and report it truthfully.",
    ),
    Capability(
        "slipway-review",
        "On explicit request only, review the observed difference of a Slipway Run without editing anything.",
    ),
    Capability(
        "slipway-workflow",
        "On explicit request only, say where an idea, issue or Run stands and which capability is next.",
    ),
)

#: The capability that points to the interview reference, and the name of that reference's template.
REFERENCE_CAPABILITY = "slipway-clarify"
REFERENCE_TEMPLATE = "decision-interview.md.j2"

#: A host without a choice of surfaces has this one.
NO_SURFACE = ""


class Entry(NamedTuple):
    """What a host lists for people to call: its path (``{capability}`` is filled in) and its template."""

    path: str
    template: str


class Host(NamedTuple):
    """One row of the host table.

    ``detect``: directories of which one must exist; ``ownership_root``: ownership lies in its ``slipway/``;
    ``entries``: the callable entry of each surface; ``reference``: the interview reference; ``body``: the
    capability text when the entry only points to it; ``policy``: the file that forbids implicit invocation,
    where the entry cannot say so itself.
    """

    id: str
    detect: tuple[str, ...]
    ownership_root: str
    entries: dict[str, Entry]
    reference: str
    body: str | None = None
    policy: str | None = None

    @property
    def manifest(self) -> str:
        return f"{self.ownership_root}/slipway/ownership-manifest.json"

    @property
    def sentinel(self) -> str:
        return f"{self.ownership_root}/slipway/.adapter-generated"

    @property
    def has_surfaces(self) -> bool:
        return NO_SURFACE not in self.entries


def _skills(directory: str) -> tuple[dict[str, Entry], str]:
    return (
        {NO_SURFACE: Entry(directory + "/skills/{capability}/SKILL.md", "skill.md.j2")},
        f"{directory}/skills/{REFERENCE_CAPABILITY}/references/decision-interview.md",
    )


def _behind(directory: str) -> tuple[str, str]:
    """Where reference and body lie when the entry only points to them."""
    capabilities = f"{directory}/slipway/capabilities"
    return f"{capabilities}/references/decision-interview.md", capabilities + "/{capability}.md"


HOSTS = (
    Host("claude", (".claude",), ".claude", *_skills(".claude")),
    Host(
        "codex",
        (".codex",),
        ".codex",
        *_skills(".codex"),
        policy=".codex/skills/{capability}/agents/openai.yaml",
    ),
    Host(
        "copilot",
        (".github/agents", ".github/copilot", ".github/prompts", ".github/skills"),
        ".github/copilot",
        {NO_SURFACE: Entry(".github/agents/{capability}.agent.md", "agent.md.j2")},
        ".github/agents/references/decision-interview.md",
    ),
    Host("cursor", (".cursor",), ".cursor", *_skills(".cursor")),
    Host(
        "kilo",
        (".kilo", ".kilocode"),
        ".kilocode",
        {NO_SURFACE: Entry(".kilo/commands/{capability}.md", "kilo.md.j2")},
        *_behind(".kilocode"),
    ),
    Host(
        "kiro",
        (".kiro",),
        ".kiro",
        {
            "ide": Entry(".kiro/steering/{capability}.md", "kiro-ide.md.j2"),
            "cli": Entry(".kiro/agents/{capability}.json", "kiro-cli.json.j2"),
        },
        *_behind(".kiro"),
    ),
    Host(
        "opencode",
        (".opencode",),
        ".opencode",
        {NO_SURFACE: Entry(".opencode/commands/{capability}.md", "command.md.j2")},
        *_behind(".opencode"),
    ),
    Host("pi", (".pi",), ".pi", *_skills(".pi")),
    Host("qwen", (".qwen",), ".qwen", *_skills(".qwen")),
    Host(
        "windsurf",
        (".windsurf",),
        ".windsurf",
        {NO_SURFACE: Entry(".windsurf/workflows/{capability}.md", "command.md.j2")},
        *_behind(".windsurf"),
    ),
)
HOST_IDS = tuple(host.id for host in HOSTS)

#: What ``--surface`` may say (machine-protocol §9.3), and the one host it is for.
SURFACES = ("ide", "cli")
SURFACE_HOST = "kiro"


class GeneratedFile(NamedTuple):
    """One file that we generate. ``needs``: support files without which an entry must not be callable."""

    path: str
    template: str
    capability: str
    is_entry: bool
    needs: tuple[str, ...] = ()


def generated_files(host: Host, surface: str) -> tuple[GeneratedFile, ...]:
    """Everything generated for ``host``, support files before the entries that need them."""
    support: list[GeneratedFile] = [GeneratedFile(host.reference, REFERENCE_TEMPLATE, REFERENCE_CAPABILITY, False)]
    entries: list[GeneratedFile] = []
    for name, _ in CAPABILITIES:
        needs = [host.reference] if name == REFERENCE_CAPABILITY else []
        for path, template in ((host.body, f"capabilities/{name}.md.j2"), (host.policy, "openai.yaml.j2")):
            if path is not None:
                needs.append(path.format(capability=name))
                support.append(GeneratedFile(needs[-1], template, name, False))
        entry = host.entries[surface]
        path = entry.path.format(capability=name)
        entries.append(GeneratedFile(path, entry.template, name, True, tuple(needs)))
    return (*support, *entries)
