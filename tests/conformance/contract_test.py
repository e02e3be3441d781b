"""Every sentence of the contract has a test that ran and passed."""

import re

import pytest
from contract import CONTRACT, differences, sentences

ITSELF = "G1"


@pytest.mark.contract(ITSELF)
def test_every_sentence_of_the_contract_is_checked(request):
    if request.config.getoption("-k"):
        pytest.skip("not checked: -k selects only some tests")
    assert sorted(set(sentences()) - request.config.checked_sentences - {ITSELF}) == []


@pytest.mark.contract(ITSELF)
def test_the_page_on_migration_lists_every_difference():
    page = CONTRACT.with_name("migrating.md").read_text()
    table = page.split("### Every difference\n")[1].split("\n## ")[0]
    listed = re.findall(r"^\| ([A-Z]+\d+(?:, [A-Z]+\d+)*) \|", table, re.MULTILINE)
    names = [name for row in listed for name in row.split(", ")]
    assert sorted(names) == sorted(differences())
