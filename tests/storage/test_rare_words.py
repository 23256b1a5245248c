"""Which words of a question are names: words that English has in another form are none."""

import pytest

from mcp_reflect.storage.retrieval.question import is_rare

INFLECTED = """
    currencies stopping planned refunded refunds caching unmounted reindexing misconfigured deduplicated rebasing linters
    quantities rescheduled overwritten uploader deserialized throttled debounced tokenized sanitized redeployed mistyped
    prepaid resending invoicing offboarding gluing simmered seedlings preheated leaky blurry jittery nicest funnier unpinned
""".split()
NAMES = (
    "kubectl xargs pnpm vitest dockerfile grafana relctl shopctl svcadm tmux rclone minio".split()
)


@pytest.mark.parametrize("word", INFLECTED)
def test_a_word_in_another_form_is_no_name(word: str) -> None:
    assert not is_rare(word)


@pytest.mark.parametrize("word", NAMES)
def test_a_name_without_a_form_is_one(word: str) -> None:
    assert is_rare(word)
