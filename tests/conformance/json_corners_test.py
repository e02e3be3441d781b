"""Corner cases of JSON bodies: valid and invalid numbers, strings and tensors, and bodies that never end."""

import base64
import json
import socket
import struct

import numpy as np
import pytest
from calls import MODELS, call_error, floats, request
from rest_test import HALF, ask, echo, predict
from serving import running_node


def parsed(answer) -> tuple[int, object]:
    return answer.status, answer.json


@pytest.mark.contract("J2", "G10")
@pytest.mark.parametrize("rows, answers", [
    ([1.0, 2.0, 5.0], [2.5, 3.0, 4.5]), ([[1.0, 2.0], [3.0, 4.0]], [[2.5, 3.0], [3.5, 4.0]]), ([[]], [[]])])
def test_rows_may_have_another_shape_than_the_signatures(examples, rows, answers):
    """The first request of TensorFlow Serving's guide; the signature says [-1, 1]."""
    assert parsed(predict(examples, {"instances": rows})) == (200, {"predictions": answers})


# ------------------------------------------------------------------------------------------------------------- Numbers

@pytest.mark.contract("J6", "J8")
@pytest.mark.parametrize("number, error", [
    ("1e999999", "Number too big to be stored in double."), ("-1e999999", "Number too big to be stored in double."),
    ("1e99999999999999999999", "Number too big to be stored in double."), ("9" * 1_000_000, "Number too big to be stored in double."),
    ("1.", "Miss fraction part in number."), ("1e", "Miss exponent in number."), ("1e+", "Miss exponent in number."),
    ("01", "Missing a comma or ] after an array element."), (".5", "Invalid value."), ("+1", "Invalid value."),
    ("-", "Invalid value."), ("--1", "Invalid value."), ("0x10", "Missing a comma or ] after an array element."),
    ("1_000", "Missing a comma or ] after an array element."), ("1,", "Invalid value."), (",1", "Invalid value."),
    ("1 2", "Missing a comma or ] after an array element."), ("tru", "Invalid value."), ("True", "Invalid value."),
    ("None", "Invalid value."), ("nan", "Invalid value."), ("infinity", "Invalid value."), ("'1'", "Invalid value."),
    ("NaNe2", "Invalid value."), ("Infinity.5", "Invalid value."), ("-InfE1", "Invalid value."), ("// 1", "Invalid value."),
    ("/* */ 1", "Invalid value."), ("\f1", "Invalid value.")])
def test_an_invalid_number_is_reported(half, number, error):
    answer = predict(half, '{"instances": [' + number + "]}")
    assert answer.status == 400 and answer.error.startswith(f"JSON Parse error: {error} at offset: ")


@pytest.mark.contract("J6")
@pytest.mark.parametrize("number", [
    "0", "-0", "0.0", "-0.0e-0", "1E5", "1e+5", "1e05", "123456789012345678901234567890", "0.1", "3.4028235e38", "3.4028236e38",
    "1e-45", "1e-46", "1e-400", "1e-999999", "2.2250738585072011e-308", "4.35", "16777217", "16777219", "33554433.0",
    "8.5899345920000001e9", "9007199254740993", "0." + "1" * 1_000_000, "1" + "0" * 300 + "e-300", "0" + ".0" * 1 + "1e2"])
def test_every_float_is_the_nearest_one_to_its_text(types, number):
    """A float64 is the double nearest to the text; a float32 is the float nearest to that double."""
    want = float(number)
    assert parsed(echo(types, "float64", "[" + number + "]")) == (200, {"outputs": [want]})
    single = echo(types, "float32", "[" + number + "]")
    with np.errstate(over="ignore"):
        assert single.status == 200
        assert np.float32(single.json["outputs"][0]) == np.float32(want)


@pytest.mark.contract("J6", "J12")
def test_random_doubles_are_returned_bit_by_bit(types):
    random = np.random.default_rng(2026)
    values = [struct.unpack("<d", random.bytes(8))[0] for _ in range(3000)]
    values = [one for one in values if np.isfinite(one)]
    got = echo(types, "float64", json.dumps(values)).json["outputs"]
    assert [struct.pack("<d", float(one)) for one in got] == [struct.pack("<d", one) for one in values]


@pytest.mark.contract("J6")
@pytest.mark.parametrize("text, want", [("Inf", "Infinity"), ("-Inf", "-Infinity"), ("NaN", "NaN"), ("-NaN", "NaN")])
def test_infinity_and_nan_have_words(types, text, want):
    assert echo(types, "float32", "[" + text + "]").text == '{\n    "outputs": [' + want + "]\n}"


@pytest.mark.contract("J7", "J8")
@pytest.mark.parametrize("dtype, number, status, error", [
    ("int64", "9" * 1_000_000, 400, "Number too big to be stored in double."),
    ("int64", "-9223372036854775809", 400, "is not of expected type: int64"),
    ("uint64", "99999999999999999999", 400, "is not of expected type: uint64"),
    ("int32", "1e2", 400, "is not of expected type: int32"), ("int32", "-0.0", 400, "is not of expected type: int32"),
    ("int8", "2147483648", 400, "is not of expected type: int8"), ("bool", "null", 400, "is not of expected type: bool"),
    ("bool", "0", 400, "is not of expected type: bool"), ("uint8", '"1"', 400, "Type: String is not of expected type: uint8"),
    ("int64", "[[1]]", 200, None), ("int32", '{"b64": "AQ=="}', 400, "Type: Object is not of expected type: int32"),
    ("float16", "1.5", 501, "to type: half"), ("bfloat16", "1", 501, "to type: bfloat16"), ("qint8", "1", 501, "to type: qint8")])
def test_integers_must_be_integers_of_their_type(types, dtype, number, status, error):
    answer = echo(types, dtype, "[" + number + "]")
    assert answer.status == status and (error is None or error in answer.error)


@pytest.mark.contract("J7")
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint32", "uint64"])
def test_values_of_every_integer_type_are_returned_unchanged(types, dtype):
    info = np.iinfo(dtype)
    values = [int(info.min), int(info.max), 0, 1, int(info.max) // 3]
    assert parsed(echo(types, dtype, json.dumps(values))) == (200, {"outputs": values})


# ------------------------------------------------------------------------------------------------------------- Strings

def text_of(node, literal: str) -> bytes:
    """The bytes that the model got for this string."""
    answer = predict(node, ('{"signature_name": "bytes", "inputs": [' + literal + "]}").encode())
    assert answer.status == 200, answer.text
    return base64.b64decode(answer.bytes.split(b'"b64": "')[1].split(b'"')[0])


@pytest.mark.contract("J5")
@pytest.mark.parametrize("literal, want", [
    (r'"\ud83d\ude00"', "\U0001f600".encode()), (r'"\u00e9"', b"\xc3\xa9"), (r'"a\u0000b"', b"a\0b"),
    (r'"\"\\\/\b\f\n\r\t"', b'"\\/\b\f\n\r\t'), ('""', b""), ('"\u00e9"', b"\xc3\xa9"), ('{"b64": ""}', b""),
    ('{"b64": "AAECAw=="}', b"\0\1\2\3"), ('{"b64": "AAECAw"}', b"\0\1\2\3"), ('{"b64":"//79"}', b"\xff\xfe\xfd"),
    (r'{"\u00624": "x"}', None), (r'{"b\u00364": "QQ=="}', b"A"), ('{"b64": "' + "QUFB" * 50_000 + '"}', b"A" * 150_000)])
def test_strings_are_decoded_byte_by_byte(types, literal, want):
    if want is None:
        assert echo(types, "string", "[" + literal + "]").status == 400
    else:
        assert text_of(types, literal) == want


@pytest.mark.contract("J8")
@pytest.mark.parametrize("literal, error", [
    (r'"\ud83d"', "The surrogate pair in string is invalid."), (r'"\ud83dx"', "The surrogate pair in string is invalid."),
    (r'"\ud83d\u0041"', "The surrogate pair in string is invalid."),
    (r'"\u12g4"', "Incorrect hex digit after \\u escape in string."), (r'"\x41"', "Invalid escape character in string."),
    ('"a', "Missing a closing quotation mark in string."), ('"a\nb"', "Invalid escape character in string."),
    ('"\x01"', "Invalid escape character in string.")])
def test_an_invalid_string_is_reported(types, literal, error):
    answer = echo(types, "string", "[" + literal + "]")
    assert answer.status == 400 and error in answer.error


@pytest.mark.contract("J5")
@pytest.mark.parametrize("bytes_sent", [b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80"])
def test_bytes_that_are_not_utf8_are_passed_on(types, bytes_sent):
    """TensorFlow Serving does not check them either: a string tensor contains bytes."""
    answer = ask(types, "POST", "/v1/models/types:predict",
                 b'{"signature_name": "bytes", "inputs": ["' + bytes_sent + b'"]}')
    assert answer.status == 200
    assert base64.b64decode(answer.bytes.split(b'"b64": "')[1].split(b'"')[0]) == bytes_sent


@pytest.mark.contract("J5")
@pytest.mark.parametrize("literal", ['{"b64": "A"}', '{"b64": "AA=A"}', '{"b64": "A A="}', '{"b64": "=="}', '{"b64": "QQ==="}',
                                     '{"b64": "-_-_"}', '{"b64": "QQ==\\n"}'])
def test_invalid_base64_is_reported(types, literal):
    answer = echo(types, "string", "[" + literal + "]")
    assert answer.status == 400 and "Unable to base64 decode" in answer.error


@pytest.mark.contract("J5")
@pytest.mark.parametrize("literal", ['{"b64": ["QQ=="]}', '{"b64": {"b64": "QQ=="}}', '{"b64": "QQ==", "x": 1}', '{"B64": "QQ=="}',
                                     "{}", '{"b64": "QQ==", "b64": "QQ=="}'])
def test_an_object_with_anything_but_base64_is_not_a_string(types, literal):
    answer = echo(types, "string", "[" + literal + "]")
    assert answer.status == 400 and "not formatted correctly for base64 data" in answer.error


# ------------------------------------------------------------------------------------------------------------- Objects

@pytest.mark.contract("J8", "J1")
@pytest.mark.parametrize("body, status, got", [
    ('{"instances": [2], "instances": [4]}', 200, {"predictions": [3.0]}),
    ('{"inputs": [2], "inputs": "x"}', 200, {"outputs": [3.0]}),
    ('{"inputs": {"x": [2], "x": [4]}}', 200, {"outputs": [3.0]}),
    ('{"signature_name": "serving_default", "signature_name": "none", "inputs": [2]}', 200, {"outputs": [3.0]}),
    ('{"inputs": [2], "signature_name": "serving_default"}', 200, {"outputs": [3.0]}),
    ('{"inputs": [2], "more": {"instances": [1]}, "x": [[], {}, null, "]}"]}', 200, {"outputs": [3.0]}),
    ('{"inputs": {"x": [2], "y": "ignored"}}', 200, {"outputs": [3.0]}),
    ('{"\\u0069nputs": [2]}', 200, {"outputs": [3.0]}), ('{"INPUTS": [2]}', 400, None), ('{"inputs ": [2]}', 400, None),
    ('\ufeff{"inputs": [2]}', 200, {"outputs": [3.0]}), (' \n\t\r{ "inputs" \n:\t[ 2 ] } ', 200, {"outputs": [3.0]}),
    ('{"signature_name": "", "inputs": [2]}', 200, {"outputs": [3.0]}), ('{"signature_name": null, "inputs": [2]}', 400, None),
    ('{"inputs": null}', 400, None), ('{"instances": null}', 400, None), ('{"instances": "x"}', 400, None),
    ('{"instances": {"x": [1]}}', 400, None), ("null", 400, None), ("7", 400, None), ('"x"', 400, None), ("true", 400, None)])
def test_the_first_of_duplicate_keys_counts_and_unknown_keys_are_ignored(half, body, status, got):
    answer = predict(half, body.encode())
    assert answer.status == status and (got is None or answer.json == got)


@pytest.mark.contract("J8")
@pytest.mark.parametrize("body, error", [
    ('{"inputs": [2]', "Missing a comma or } after an object member."),
    ('{"inputs" [2]}', "Missing a colon after a name of object member."),
    ("{inputs: [2]}", "Missing a name for object member."), ('{"inputs": [2],}', "Missing a name for object member."),
    ('{"inputs": }', "Invalid value."), ('{"inputs": [2}', "Missing a comma or ] after an array element."), ("{]", "Missing a name"),
    (" ", "The document is empty."), ("\0", "The document is empty.")])
def test_an_invalid_object_is_reported(half, body, error):
    answer = predict(half, body)
    assert answer.status == 400 and f"JSON Parse error: {error}" in answer.error


# -------------------------------------------------------------------------------------------------------------- Shapes

@pytest.mark.contract("J3", "J4", "J11")
@pytest.mark.parametrize("key, value, got", [
    ("inputs", [], []), ("inputs", [[]], [[]]), ("inputs", [[], []], [[], []]), ("inputs", [[[], []]], [[[], []]]),
    ("inputs", 7, 7), ("inputs", [[[7]]], [[[7]]]), ("instances", [[], []], [[], []]), ("instances", [7], [7]),
    ("instances", [[[1, 2]], [[3, 4]]], [[[1, 2]], [[3, 4]]]), ("instances", [{"x": 1}, {"x": 2}], [1, 2]),
    ("instances", [{"x": [[1]]}], [[[1]]]), ("inputs", {"x": {"y": 1}}, None), ("instances", [[1], []], None),
    ("instances", [[], [1]], None), ("inputs", [1, [2]], None), ("inputs", [[1], 2], None), ("inputs", [[1, 2], [3]], None),
    ("inputs", [[[1], [2]], [[3]]], None), ("inputs", [[], [1]], None), ("instances", [1, [2]], None), ("instances", [[1], 2], None)])
def test_nested_lists_become_shapes(types, key, value, got):
    answer = predict(types, {"signature_name": "int32", key: value})
    out = {"inputs": "outputs", "instances": "predictions"}[key]
    assert (answer.status, answer.json.get(out)) == ((200, got) if got is not None else (400, None))


@pytest.mark.contract("J9")
@pytest.mark.parametrize("depth, status", [(253, 200), (254, 200), (255, 400), (300, 400), (511, 400), (513, 400)])
def test_a_tensor_has_at_most_254_levels_of_nesting(types, depth, status):
    answer = echo(types, "int32", "[" * depth + "7" + "]" * depth)
    assert answer.status == status
    if status == 400:
        assert "nested more than " in answer.error


@pytest.mark.contract("X12")
@pytest.mark.parametrize("depth, status", [(510, 200), (500_000, 200), (999_999, 200), (1_000_000, 400), (10_000_000, 400)])
def test_other_values_of_a_body_have_at_most_a_million_levels_of_nesting(half, depth, status):
    answer = predict(half, '{"other": ' + "[" * depth + "]" * depth + ', "inputs": [2]}')
    assert answer.status == status
    if status == 400:
        assert answer.error == "Values are nested more than 1000000 levels deep"


@pytest.mark.contract("J3")
def test_large_bodies_are_parsed_like_small_ones(types):
    values = np.arange(300_000, dtype=np.float32).reshape(100, 30, 100) / 8
    rows = predict(types, {"signature_name": "float32", "instances": values.tolist()})
    np.testing.assert_array_equal(np.array(rows.json["predictions"], np.float32), values)
    named = predict(types, {"signature_name": "float32", "instances": [{"x": one} for one in values.tolist()]})
    assert named.bytes == rows.bytes
    words = [f"word {i}" for i in range(20_000)]
    assert predict(types, {"signature_name": "string", "instances": words}).json == {"predictions": words}


@pytest.mark.contract("X11")
def test_the_number_of_elements_of_a_request_is_limited(tmp_path):
    with running_node(tmp_path, "types", MODELS / "types", "--request_elements_max=1000") as node:
        node.serving()
        assert echo(node, "float32", json.dumps([1.0] * 1000)).status == 200
        answer = echo(node, "float32", json.dumps([1.0] * 1001))
        assert (answer.status, answer.error) == (429, "the inputs have more than 1000 elements")
        claimed = request("types", "two", a=floats([1 << 20], float_val=[1]), b=np.ones(1, np.int32))
        assert call_error(node.predictions.Predict, claimed)[1] == answer.error  # Rejected before memory is allocated for the values.
        code, text = call_error(node.predictions.Predict, request("types", "two", a=np.ones(600, np.float32), b=np.ones(600, np.int32)))
        assert (code.name, text) == ("RESOURCE_EXHAUSTED", "the inputs have more than 1000 elements")


# ------------------------------------------------------------------------------------------------- Bodies that never end

@pytest.mark.contract("X10", "R12")
@pytest.mark.parametrize("sent", [
    b"POST /v1/models/half_plus_two_tf1:predict HTTP/1.1\r\nContent-Length: 100\r\n\r\n" + b'{"instances": [2]}',
    b"POST /v1/models/half_plus_two_tf1:predict HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12", b"POST /v1/mod", b"\r\n\r\n"])
@pytest.mark.parametrize("reset", [False, True])
def test_an_incomplete_request_is_dropped(half, sent, reset):
    host, port = half.rest_url.removeprefix("http://").split(":")
    for _ in range(50):
        connection = socket.create_connection((host, int(port)))
        connection.sendall(sent)
        if reset:  # Closes the connection with RST instead of FIN.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    assert ask(half, "POST", HALF + ":predict", {"instances": [2.0]}).json == {"predictions": [3.0]}


@pytest.mark.contract("R12")
def test_a_client_that_expects_100_continue_gets_it(half):
    host, port = half.rest_url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(b"POST %s:predict HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 18\r\n\r\n" % HALF.encode())
        assert connection.recv(1024) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b'{"instances": [2]}')
        assert connection.recv(1024).startswith(b"HTTP/1.1 200 OK\r\n")
