"""Published Runs, each by the kind of event that comes last in it."""

from __future__ import annotations

from slipway_lite.protocol.resume import Mode
from tests.protocol.imported.publishing import PublishedModel
from tests.protocol.model import DIRTY
from tests.protocol.outcomes import activity, decision, implementation
from tests.protocol.source.change import Change
from tests.protocol.test_resume import FLY, amended, choice, fetched


def started() -> PublishedModel:
    return PublishedModel()


def submitted() -> PublishedModel:
    """An Implement, suggested by an Orient."""
    model = PublishedModel()
    model.to_implement()
    return model


def implemented() -> PublishedModel:
    model = submitted()
    model.git = DIRTY
    reported = implementation(activities=[activity(), activity("lint")], uncertainties=["maybe"])
    model.submit(implementation=reported, observations=["seen"], known_issues=["slow"])
    return model


def paused() -> PublishedModel:
    model = PublishedModel()
    model.submit("needs_input", pause=decision())
    return model


def answered() -> PublishedModel:
    model = paused()
    model.answer("stable")
    return model


def superseding() -> PublishedModel:
    model = answered()
    model.submit("needs_input", pause=decision(supersedes_answer_action_id=model.run.answers[0]["action_id"]))
    model.answer("newest")
    return model


def destructive() -> PublishedModel:
    model = PublishedModel()
    model.to_destructive()
    return model


def confirmed() -> PublishedModel:
    model = PublishedModel()
    model.answer("", True, model.to_destructive())
    return model


def skipped() -> PublishedModel:
    """A Review that was skipped."""
    model = implemented()
    model.skip()
    return model


def stopped() -> PublishedModel:
    model = PublishedModel()
    model.stop()
    return model


def resumed() -> PublishedModel:
    model = stopped()
    model.resume()
    return model


def ended() -> PublishedModel:
    model = PublishedModel()
    model.to_end()
    return model


def bound() -> PublishedModel:
    return PublishedModel(source=Change().snapshot())


def with_candidate() -> PublishedModel:
    model = bound()
    model.stop()
    model.resume(mode=fetched(amended(model, FLY)))
    return model


def invalid_candidate() -> PublishedModel:
    model = bound()
    model.stop()
    change = Change()
    change.body = ""
    model.resume(mode=fetched(change))
    return model


def adopted() -> PublishedModel:
    model = with_candidate()
    model.resume(mode=choice("adopt"))
    return model


def kept() -> PublishedModel:
    model = with_candidate()
    model.resume(mode=choice("pinned"))
    return model


def refreshed() -> PublishedModel:
    model = bound()
    model.stop()
    model.resume(mode=fetched(Change()))
    return model


def without_refresh() -> PublishedModel:
    model = bound()
    model.stop()
    model.resume(mode=Mode(pinned=True))
    return model


MODELS = [
    started, submitted, implemented, paused, answered, superseding, destructive, confirmed, skipped, stopped, resumed,
    ended, bound, with_candidate, invalid_candidate, adopted, kept, refreshed, without_refresh,
]  # fmt: skip
