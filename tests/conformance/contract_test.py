"""The contract is checked as a whole."""

import pytest
from contract import sentences


@pytest.mark.contract("G1")
def test_every_sentence_of_the_contract_is_checked(cited, request):
    if request.config.getoption("-k"):
        pytest.skip("some tests were left out by -k")
    assert sorted(set(sentences()) - cited) == []
