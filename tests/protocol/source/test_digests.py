"""Every vector of machine-protocol appendix A.1 and A.2."""

from __future__ import annotations

from slipway_lite.canon import framed
from slipway_lite.protocol.source import digests
from slipway_lite.protocol.source.envelope import decode_envelope
from tests.protocol.source.change import Change

REQUIREMENTS_REVISION = "sha256:e2d16c10ac91104a64ff9aa14cd850a4dab815a7fef5929658c258aa7da2f110"


def test_framing_keeps_fields_apart() -> None:
    assert framed("a", "bc") == "sha256:3fafa1cf2f19a7c1129beb20cf0983f73a489a221fc0dd2f16d1be292d089205"
    assert framed("ab", "c") != framed("a", "bc")


def test_comment_body_digest_includes_the_marker_line() -> None:
    section = Change().snapshot()["sections"][0]
    assert section["body_sha256"] == "sha256:26dcb4b27b290d1d0ba68aa8de0b6c88bfd273eae332c35180adc42416755dd0"


def test_material_digest_covers_the_payload_alone() -> None:
    section = Change().snapshot()["sections"][0]
    assert (
        section["material_sha256"]
        == digests.material("Ship it.\n")
        == "sha256:f4c6a54e8bc93e6a65e8943240616384721f9504498703eeb63a2eee0b185831"
    )


def test_section_revision_covers_key_role_title_and_payload() -> None:
    section = Change().snapshot()["sections"][0]
    assert section["section_revision"] == "sha256:30545483b9d6d43f05575b5303a8b5c2b1a46576d1b365d97c6126f0627167ec"


def test_manifest_revision_without_a_parent() -> None:
    assert (
        Change().snapshot()["manifest_revision"]
        == "sha256:42d16ce83a0c8d2b07dd755af57492732c7be24b47954b36ff97ef4bb1a5f3e4"
    )


def test_manifest_revision_covers_the_parent_revision() -> None:
    change = Change()
    change.parent_revision = REQUIREMENTS_REVISION
    assert (
        change.snapshot()["manifest_revision"]
        == "sha256:fc3b29d2bb4c8fa4e934d6bee773c026aec8c61b2da2695bf78ddb0ee4bf834c"
    )


def test_requirements_revision_ignores_comments_and_parent() -> None:
    change = Change().amend(1, "Ship it.\n", "sha256:" + "0" * 64)
    assert change.snapshot()["requirements_revision"] == REQUIREMENTS_REVISION
    assert Change().snapshot()["requirements_revision"] == REQUIREMENTS_REVISION


def test_source_revision_without_a_parent() -> None:
    assert (
        Change().snapshot()["source_revision"]
        == "sha256:9db78e4afaec8e82e2d9f66833a1277b20d53dc8af64115b50ee22fc42fd75fc"
    )


def test_source_revision_normalises_the_line_endings_of_the_title() -> None:
    snapshot = Change().snapshot()
    assert digests.source_revision(snapshot | {"title": "a\r\nb\rc"}) == digests.source_revision(
        snapshot | {"title": "a\nb\nc"}
    )


def test_no_digest_covers_urls_times_labels_authors_number_or_parent() -> None:
    change = Change()
    revisions = ("source_revision", "manifest_revision", "requirements_revision")
    wanted = {name: change.snapshot()[name] for name in revisions}
    change.url, change.number = "https://github.com/other/place/issues/9", 9
    change.envelope = {
        "updated_at": "2027-01-01T00:00:00Z",
        "fetched_at": "2027-01-01T00:00:00Z",
        "labels": ["level:change"],
        "parent": {"repository_id": "R_2", "issue_id": "I_2", "canonical_url": change.url},
    }
    change.comments = {1: {"author_id": "U_2", "updated_at": "2027-01-01T00:00:00Z"}}
    assert {name: change.snapshot()[name] for name in revisions} == wanted


def test_observation_of_a_body_without_comments() -> None:
    change = Change(())
    change.body = "<!-- slipway-level: objective/v1 -->\n"
    assert (
        digests.observation(decode_envelope(change.raw()))
        == "sha256:4885a6c5a1fadba5b35fbf790ac38b3902bf750138d377aada4f7e144c2ea750"
    )


def test_observation_covers_the_comments() -> None:
    change = Change()
    change.sections = change.sections[:1]
    change.body = "<!-- slipway-level: objective/v1 -->\n"
    assert (
        digests.observation(decode_envelope(change.raw()))
        == "sha256:c99715496bfb64560bf5274c9e2cbfe796d195c65bbd2d89e528dad817eb3d10"
    )


def test_observation_ignores_the_order_of_comments_and_the_kind_of_line_ending() -> None:
    change = Change()
    change.body = "a\nb"
    wanted = digests.observation(decode_envelope(change.raw()))
    change.body = "a\r\nb"
    change.sections.reverse()
    for section in change.sections:
        section["body"] = section["body"].replace("\n", "\r")
    assert digests.observation(decode_envelope(change.raw())) == wanted
