"""Every sentence of the contract has a test that ran and passed."""

import pytest
from contract import sentences

ITSELF = "G1"


@pytest.mark.contract(ITSELF)
def test_every_sentence_of_the_contract_is_checked(request):
    if request.config.getoption("-k"):
        pytest.skip("not checked: -k selects only some tests")
    assert sorted(set(sentences()) - request.config.checked_sentences - {ITSELF}) == []
