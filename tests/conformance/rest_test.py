"""TensorFlow Serving's REST API, called with plain HTTP."""

import base64
import gzip
import http.client
import json
import math

import numpy as np
import pytest
import tensorflow as tf
from calls import MODELS, example, serve

HALF = "/v1/models/half_plus_two_tf1"


class Answer:
    def __init__(self, response: http.client.HTTPResponse):
        self.status, self.headers, self.bytes = response.status, response.headers, response.read()
        self.text = self.bytes.decode(errors="replace")

    @property
    def error(self) -> str:
        return json.loads(self.text)["error"]

    @property
    def json(self):
        return json.loads(self.text)


def ask(node, method: str, path: str, body=None, headers=None, connection=None) -> Answer:
    connection = connection or http.client.HTTPConnection(node.rest_url.removeprefix("http://"), timeout=30)
    data = json.dumps(body) if isinstance(body, (dict, list)) else body
    connection.request(method, path, data, headers or {})
    return Answer(connection.getresponse())


def predict(node, body, model: str | None = None) -> Answer:
    return ask(node, "POST", f"/v1/models/{model or node.model}:predict", body)


# -------------------------------------------------------------------------------------------------------------- Routes

@pytest.mark.contract("R1", "R3")
@pytest.mark.parametrize("path", [
    HALF + ":predict", HALF + "/versions/1:predict", HALF + "/versions/0001:predict", "/V1/Models/half_plus_two_tf1:Predict",
    "/v1/models/half%5Fplus_two_tf1:predict"])
def test_predictions_have_these_routes(half, path):
    answer = ask(half, "POST", path, {"instances": [2.0]})
    assert (answer.status, answer.json) == (200, {"predictions": [3.0]})


@pytest.mark.contract("R2")
@pytest.mark.parametrize("path, key", [
    (HALF, "model_version_status"), (HALF + "/versions/1", "model_version_status"), (HALF + "/metadata", "metadata"),
    (HALF + "/versions/1/metadata", "metadata")])
def test_status_and_metadata_have_these_routes(half, path, key):
    answer = ask(half, "GET", path)
    assert answer.status == 200 and key in answer.json


@pytest.mark.contract("R4")
@pytest.mark.parametrize("method, path", [
    ("GET", "/v1/models/half_plus_two_tf1:predict"), ("POST", "/v1/models/half_plus_two_tf1"), ("PUT", HALF),
    ("DELETE", HALF), ("POST", HALF + ":train"), ("POST", HALF + ":predict?x=y"),
    ("GET", "/v1/modelsx"), ("GET", HALF + "/versions/x"), ("POST", HALF + "/versions/1/labels/a:predict"),
    ("GET", "/v1/"), ("POST", "/v1/models/a/b:predict")])
def test_a_request_with_another_route_is_malformed(half, method, path):
    answer = ask(half, method, path, {} if method == "POST" else None)
    assert (answer.status, answer.error) == (400, f"Malformed request: {method} {path}")


@pytest.mark.contract("R5")
@pytest.mark.parametrize("path", ["/", "/v3/models", "/v2models", "/favicon.ico", "/metrics"])
def test_paths_outside_of_both_apis_are_not_found(half, path):
    answer = ask(half, "GET", path)
    assert answer.status == 404 and answer.headers["Content-Type"].startswith("text/html")


@pytest.mark.contract("R6")
def test_a_list_of_models_is_not_offered(half):
    answer = ask(half, "GET", "/v1/models")
    assert (answer.status, answer.error) == (400, "Missing model name in request.")


@pytest.mark.contract("R7")
@pytest.mark.parametrize("method, path", [("GET", HALF + "/versions/99999999999999999999"),
                                          ("POST", HALF + "/versions/99999999999999999999:predict")])
def test_a_version_too_large_for_a_number_is_reported(half, method, path):
    answer = ask(half, method, path, {"instances": [1.0]} if method == "POST" else None)
    assert (answer.status, answer.error) == (400, "Failed to convert version: 99999999999999999999 to numeric.")


@pytest.mark.contract("R8")
def test_bodies_are_json_and_errors_are_printed_over_lines(half):
    assert predict(half, {"instances": [1.0]}).headers["Content-Type"] == "application/json"
    answer = predict(half, "{")
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.text.startswith('{\n    "error": "') and answer.text.endswith('"\n}')


@pytest.mark.contract("R9", "E2", "E3", "E4")
@pytest.mark.parametrize("path, status, text", [
    ("/v1/models/x:predict", 404, "Servable not found for request: Latest(x)"),
    ("/v1/models/x/versions/2:predict", 404, "Servable not found for request: Specific(x, 2)"),
    (HALF + "/labels/canary:predict", 400, "Unrecognized servable version label: canary")])
def test_error_codes_become_http_statuses(half, path, status, text):
    answer = ask(half, "POST", path, {"instances": [1.0]})
    assert (answer.status, answer.error) == (status, text)


@pytest.mark.contract("R9")
def test_an_unknown_signature_is_400(half):
    answer = predict(half, {"signature_name": "s", "instances": [1.0]})
    assert (answer.status, answer.error) == (400, 'Serving signature name: "s" not found in signature def')


@pytest.mark.contract("R10")
@pytest.mark.parametrize("encoding", ["gzip", "x-gzip"])
def test_a_gzipped_body_is_accepted(half, encoding):
    body = gzip.compress(json.dumps({"instances": [2.0]}).encode())
    answer = ask(half, "POST", HALF + ":predict", body, {"Content-Encoding": encoding})
    assert (answer.status, answer.json) == (200, {"predictions": [3.0]})


@pytest.mark.contract("R10")
def test_a_damaged_or_too_large_gzipped_body_is_rejected(half):
    damaged = ask(half, "POST", HALF + ":predict", b"\x1f\x8bnothing", {"Content-Encoding": "gzip"})
    assert damaged.status == 400
    bomb = gzip.compress(b"[" * (101 << 20), 9)
    assert ask(half, "POST", HALF + ":predict", bomb, {"Content-Encoding": "gzip"}).status in (400, 413)


@pytest.mark.contract("R11")
@pytest.mark.parametrize("origin, status", [("http://a.example", 200), ("https://a.example", 200), ("file://x", 400), (None, 400)])
def test_a_preflight_of_a_web_page_is_answered(half, origin, status):
    answer = ask(half, "OPTIONS", HALF + ":predict", headers={"Origin": origin} if origin else {})
    assert answer.status == status


@pytest.mark.contract("R11")
def test_without_the_flag_answers_have_no_cors_headers(half):
    answer = ask(half, "POST", HALF + ":predict", {"instances": [1.0]}, {"Origin": "http://a.example"})
    assert not [name for name in answer.headers if name.lower().startswith("access-control-")]


@pytest.mark.contract("R12")
def test_a_connection_stays_open_and_answers_keep_their_order(half):
    connection = http.client.HTTPConnection(half.rest_url.removeprefix("http://"), timeout=30)
    for x in (1.0, 2.0, 3.0):
        assert ask(half, "POST", HALF + ":predict", {"instances": [x]}, connection=connection).json == {
            "predictions": [x / 2 + 2]}
    bodies = [json.dumps({"instances": [float(x)]}) for x in range(20)]
    connection.sock.sendall("".join(
        f"POST {HALF}:predict HTTP/1.1\r\nHost: h\r\nContent-Length: {len(one)}\r\n\r\n{one}" for one in bodies).encode())
    answers = connection.sock.makefile("rb")
    for x in range(20):
        assert answers.readline() == b"HTTP/1.1 200 OK\r\n"
        length = next(int(line.split(b":")[1]) for line in answers if line.lower().startswith(b"content-length:"))
        assert answers.readline() == b"\r\n"
        assert json.loads(answers.read(length)) == {"predictions": [x / 2 + 2]}


@pytest.mark.contract("R11")
def test_with_the_flag_answers_have_cors_headers(open_half):
    for answer in (ask(open_half, "POST", HALF + ":predict", {"instances": [1.0]}), ask(open_half, "GET", "/v1/models/x")):
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        assert answer.headers["Access-Control-Allow-Methods"] == "POST, GET"
        assert answer.headers["Access-Control-Allow-Headers"] == "Content-Type"


# -------------------------------------------------------------------------------------------------------------- Bodies

@pytest.mark.contract("J1")
@pytest.mark.parametrize("body, text", [
    ({}, "Missing 'inputs' or 'instances' key"),
    ({"examples": [1]}, "Missing 'inputs' or 'instances' key"),
    ({"instances": [1.0], "inputs": [1.0]}, "expecting only one of 'inputs' or 'instances' keys to exist"),
    ({"instances": 1.0}, "Expecting 'instances' to be an list/array"),
    ({"instances": []}, "No values in 'instances' array"),
    ({"instances": [1.0], "signature_name": 1}, "'signature_name' key must be a string value.")])
def test_a_body_must_have_rows_or_columns(half, body, text):
    answer = predict(half, body)
    assert answer.status == 400 and text in answer.error


@pytest.mark.contract("J1")
@pytest.mark.parametrize("path, body, error", [
    ("/labels/x", {"instances": "x"}, (400, "Unrecognized servable version label: x")),
    ("/labels/x", {}, (400, "Unrecognized servable version label: x")),
    ("/labels/x", {"instances": [1.0], "signature_name": "none"}, (400, "Unrecognized servable version label: x")),
    ("/versions/9", {"instances": "x"}, (404, "Servable not found for request: Specific(half_plus_two_tf1, 9)"))])
def test_an_unknown_version_is_reported_before_an_error_in_the_inputs(half, path, body, error):
    """As in TensorFlow Serving, whose FillPredictRequestFromJson calls HttpRestApiHandler::GetInfoMap first."""
    answer = ask(half, "POST", HALF + path + ":predict", body)
    assert (answer.status, answer.error) == error


@pytest.mark.contract("J1")
def test_text_that_is_not_json_is_reported_before_an_unknown_version(half):
    answer = ask(half, "POST", HALF + "/labels/x:predict", "{")
    assert answer.status == 400 and answer.error.startswith("JSON Parse error: ")


@pytest.mark.contract("J2", "J11")
@pytest.mark.parametrize("rows", [[1.0, 2.0], [{"x": 1.0}, {"x": 2.0}], [1, 2], [1e0, 20e-1]])
def test_rows_are_values_or_objects(half, rows):
    assert predict(half, {"instances": rows}).json == {"predictions": [2.5, 3.0]}


@pytest.mark.contract("J2")
@pytest.mark.parametrize("rows, text", [
    ([{"x": 1.0}, 2.0], "Expecting object but got list at item 1 of input list"),
    ([1.0, {"x": 2.0}], "Expecting value/list but got object at item 1 of input list"),
    ([{"z": 1.0}], "does not have named input: z"),
    ([{}], "keys must be equal to: x"),
    ([{"x": 1.0, "z": 2.0}], "does not have named input: z")])
def test_every_row_must_have_all_inputs_and_no_other(half, rows, text):
    answer = predict(half, {"instances": rows})
    assert answer.status == 400 and text in answer.error


@pytest.mark.contract("J3")
@pytest.mark.parametrize("rows, text", [
    ([[1.0], [1.0, 2.0]], "Expecting tensor size: 1 but got: 2"),
    ([[[1.0, 2.0]], [[1.0], [2.0]]], "Expecting shape [1,2] but got: [2,1]"),
    ([[[1.0], [1.0, 2.0]]], "Encountered list at unexpected size: 2 at level: 1 expected size: 1")])
def test_rows_must_have_the_same_shape(half, rows, text):
    answer = predict(half, {"instances": rows})
    assert answer.status == 400 and text in answer.error


@pytest.mark.contract("J4", "J11")
@pytest.mark.parametrize("columns", [[1.0, 2.0], {"x": [1.0, 2.0]}])
def test_columns_are_a_value_or_an_object(half, columns):
    assert predict(half, {"inputs": columns}).json == {"outputs": [2.5, 3.0]}


@pytest.mark.contract("J4")
@pytest.mark.parametrize("columns", [{}, {"z": [1.0]}])
def test_columns_must_have_all_inputs(half, columns):
    answer = predict(half, {"inputs": columns})
    assert answer.status == 400 and "Missing named input: x in 'inputs' object." in answer.error


def b64(data: bytes) -> dict:
    return {"b64": base64.b64encode(data).decode()}


@pytest.mark.contract("J5")
@pytest.mark.parametrize("word", ["ONE", b64(b"ONE")])
def test_strings_are_text_or_base64(strings, word):
    for body, key in (({"instances": [word]}, "predictions"), ({"instances": [{"word": word}]}, "predictions")):
        row = predict(strings, body).json[key][0]
        assert (row["greeting"], row["number"], row["length"]) == ("hello one", 1, 3)
    assert predict(strings, {"inputs": [word]}).json["outputs"]["number"] == [1]


@pytest.mark.contract("J5")
@pytest.mark.parametrize("word, text", [
    ({"b64": "*"}, "Unable to base64 decode"), ({"b64": 1}, "not formatted correctly for base64 data"),
    (1, "is not of expected type: string"), (None, "is not of expected type: string")])
def test_a_value_that_is_not_a_string_is_reported(strings, word, text):
    answer = predict(strings, {"inputs": [word]})
    assert answer.status == 400 and text in answer.error


@pytest.mark.contract("J6", "J12")
@pytest.mark.parametrize("number, want", [
    ("1", 2.5), ("-0.0", 2.0), ("1e2", 52.0), ("NaN", math.nan), ("Infinity", math.inf), ("-Infinity", -math.inf),
    ("1e39", math.inf), ("1e-60", 2.0), ("123456789", 61728400.0)])
def test_a_float_input_accepts_every_number(half, number, want):
    answer = predict(half, '{"instances": [' + number + "]}")
    assert answer.status == 200
    np.testing.assert_array_equal(np.float32(answer.json["predictions"]), [np.float32(want)])


@pytest.mark.contract("J6")
@pytest.mark.parametrize("value", ['"1"', "true", "null", '{"a": 1}'])
def test_a_value_that_is_not_a_number_is_rejected(half, value):
    answer = predict(half, '{"inputs": [' + value + "]}")
    assert answer.status == 400


@pytest.mark.contract("J8")
@pytest.mark.parametrize("body, text", [
    ("", "JSON Parse error: The document is empty"),
    ("{", "JSON Parse error: Missing a name for object member. at offset: 1"),
    ('{"instances": [1, 2}', "JSON Parse error: Missing a comma or ] after an array element. at offset: 19"),
    ("nothing", "JSON Parse error: Invalid value. at offset: 1"),
    ("[1]", "Is not object")])
def test_a_json_error_is_reported_with_its_offset(half, body, text):
    answer = predict(half, body)
    assert answer.status == 400 and text in answer.error


@pytest.mark.contract("J8")
@pytest.mark.parametrize("tail", ["}", " trailing", '{"instances": [9.0]}', "\n\n"])
def test_text_after_the_first_value_is_ignored(half, tail):
    assert predict(half, '{"instances": [2.0]}' + tail).json == {"predictions": [3.0]}


@pytest.mark.contract("J9")
@pytest.mark.parametrize("key", ["instances", "inputs", "signature_name", "other"])
@pytest.mark.parametrize("closed", [True, False])
def test_deep_nesting_is_an_error_and_does_not_crash_the_node(half, key, closed):
    deep = "[" * 500_000 + ("]" * 500_000 if closed else "")
    assert predict(half, '{"' + key + '": ' + deep + ("}" if closed else "")).status == 400
    assert predict(half, {"instances": [2.0]}).status == 200


@pytest.mark.contract("J10")
def test_an_error_shows_only_the_beginning_of_a_large_body(half):
    answer = predict(half, {"inputs": "x" * 100_000})
    assert answer.status == 400 and len(answer.bytes) < 1000


@pytest.mark.contract("J11")
def test_the_names_of_several_outputs_are_kept(strings):
    row, = predict(strings, {"instances": ["two"]}).json["predictions"]
    assert set(row) == {"number", "length", "greeting"}
    assert set(predict(strings, {"inputs": ["two"]}).json["outputs"]) == {"number", "length", "greeting"}


@pytest.mark.contract("J12")
@pytest.mark.parametrize("x, text", [("0", "2.0"), ("0.2", "2.1"), ("NaN", "NaN"), ("Infinity", "Infinity"),
                                     ("-Infinity", "-Infinity"), ("2e30", "1e+30"), ("-4", "0.0")])
def test_floats_are_written_in_short_form_and_never_as_integers(half, x, text):
    answer = predict(half, '{"instances": [' + x + "]}")
    assert answer.text == '{\n    "predictions": [' + text + "\n    ]\n}"


@pytest.mark.contract("J12")
def test_every_written_float_parses_to_the_same_value(half):
    values = np.random.default_rng(5).normal(0, 1e3, 500).astype(np.float32)
    got = np.array(predict(half, {"instances": values.tolist()}).json["predictions"], np.float64).astype(np.float32)
    np.testing.assert_array_equal(got, values * np.float32(0.5) + np.float32(2))


# --------------------------------------------------------------------------------------------------------------- Types

def echo(node, signature: str, text: str) -> Answer:
    return predict(node, '{"signature_name": "%s", "inputs": %s}' % (signature, text))


@pytest.mark.contract("J7")
@pytest.mark.parametrize("dtype, given, got", [
    ("int8", "[-128, 127]", [-128, 127]), ("int8", "[200]", [-56]),
    ("int16", "[-32768, 32767]", [-32768, 32767]), ("int16", "[70000]", [4464]),
    ("int32", "[-2147483648, 2147483647]", [-2147483648, 2147483647]),
    ("int64", "[-9223372036854775808, 9223372036854775807]", [-9223372036854775808, 9223372036854775807]),
    ("uint8", "[0, 255]", [0, 255]), ("uint8", "[-1, 256]", [255, 0]),
    ("uint32", "[0, 4294967295]", [0, 4294967295]),
    ("uint64", "[0, 18446744073709551615]", [0, 18446744073709551615]),
    ("bool", "[true, false]", [True, False]), ("bool", "true", True),
    ("float64", "[0.1, 1e300, 1, -7]", [0.1, 1e300, 1.0, -7.0]),
    ("string", '["a", "\\u00e9", ""]', ["a", "\u00e9", ""]),
    ("int32", "7", 7), ("int64", "[[1, 2], [3, 4]]", [[1, 2], [3, 4]]), ("int32", "[[[[[5]]]]]", [[[[[5]]]]]),
])
def test_every_type_accepts_its_values(types, dtype, given, got):
    answer = echo(types, dtype, given)
    assert (answer.status, answer.json) == (200, {"outputs": got})


@pytest.mark.contract("J7")
@pytest.mark.parametrize("dtype, given", [
    ("int8", "[1.5]"), ("int32", "[1.0]"), ("int32", "[2147483648]"), ("int32", "[true]"), ("int32", '["1"]'),
    ("int64", "[9223372036854775808]"), ("int64", "[1.5]"), ("int64", "[1e3]"), ("uint32", "[-1]"), ("uint32", "[4294967296]"),
    ("uint64", "[-1]"), ("uint64", "[18446744073709551616]"), ("bool", "[1]"), ("bool", '["true"]'), ("int32", "[null]"),
    ("int32", "[NaN]"), ("string", "[1]"), ("string", "[true]"), ("float64", '["1"]'),
])
def test_other_values_are_rejected_with_the_type(types, dtype, given):
    answer = echo(types, dtype, given)
    assert answer.status == 400
    assert f"is not of expected type: {'double' if dtype == 'float64' else dtype}" in answer.error


@pytest.mark.contract("J7")
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_types_without_a_json_form_are_not_implemented(types, dtype):
    answer = echo(types, dtype, "[1]")
    assert answer.status == 501 and "Conversion of JSON Value: 1 to type: " in answer.error


@pytest.mark.contract("J13")
def test_strings_of_outputs_named_bytes_are_base64(types):
    answer = echo(types, "bytes", '["a", {"b64": "/w=="}]')
    assert answer.bytes.count(b'{"b64": "/w=="}') == 1 and answer.bytes.count(b'{"b64": "YQ=="}') == 1


@pytest.mark.contract("J11")
def test_outputs_without_a_common_first_dimension_cannot_be_returned_as_rows(types):
    rows = predict(types, {"signature_name": "sums", "instances": [1.0, 2.0]})
    assert rows.status == 400 and "Tensor name: sum has no shape information" in rows.error
    assert predict(types, {"signature_name": "sums", "inputs": [1.0, 2.0]}).json == {
        "outputs": {"same": [1.0, 2.0], "sum": 3.0}}


@pytest.mark.contract("J2", "J4")
@pytest.mark.parametrize("body", [
    {"instances": [{"a": 1.0, "b": 2}, {"b": 4, "a": 3.0}]}, {"inputs": {"a": [1.0, 3.0], "b": [2, 4]}}])
def test_several_inputs_are_passed_by_name(types, body):
    answer = predict(types, {"signature_name": "two"} | body)
    assert list(answer.json.values()) == [[3.0, 7.0]]


@pytest.mark.contract("J2", "J4")
@pytest.mark.parametrize("body, text", [
    ({"instances": [1.0]}, "instances is a plain list, but expecting list of objects as multiple input tensors required"),
    ({"inputs": [1.0]}, "inputs is a plain value/list, but expecting an object as multiple input tensors required"),
    ({"instances": [{"a": 1.0}]}, "keys must be equal to: a,b"),
    ({"inputs": {"a": [1.0]}}, "Missing named input: b in 'inputs' object."),
    ({"instances": [{"a": 1.0, "b": 1.5}]}, "key: b of 'instances' list")])
def test_several_inputs_without_names_are_rejected(types, body, text):
    answer = predict(types, {"signature_name": "two"} | body)
    assert answer.status == 400 and text in answer.error


# ---------------------------------------------------------------------------------------------------- classify, regress

@pytest.mark.contract("J14", "J15", "C4")
@pytest.mark.parametrize("row", [{"x": 2.0}, {"x": [2.0]}, {"x": 2.0, "ignored": "text"}])
def test_regress_answers_a_list_of_values(examples, row):
    answer = ask(examples, "POST", f"/v1/models/{examples.model}:regress",
                 {"signature_name": "regress_x", "examples": [row, {"x": -4.0}]})
    assert (answer.status, answer.text) == (200, '{\n    "results": [3.0, 0.0]\n}')


@pytest.mark.contract("J14", "C3")
def test_classify_answers_pairs_of_label_and_score(examples):
    answer = ask(examples, "POST", f"/v1/models/{examples.model}/versions/1:classify",
                 {"signature_name": "classify_x", "examples": [{"x": 2.0}, {"x": -40.0}]})
    assert (answer.status, answer.json) == (200, {"results": [[["above", 3.0]], [["below", -18.0]]]})


@pytest.mark.contract("J15", "C1")
def test_a_feature_of_the_wrong_type_is_reported(examples):
    answer = ask(examples, "POST", f"/v1/models/{examples.model}:regress",
                 {"signature_name": "regress_x", "examples": [{"x": 2}]})
    assert answer.status == 400 and "Data types don't match" in answer.error


@pytest.mark.contract("J5", "C1")
def test_serialized_examples_may_be_sent_to_predict(tmp_path_factory):
    for node in serve("examples_tf2", tmp_path_factory):
        rows = [b64(example(x=2).SerializeToString()), b64(example().SerializeToString())]
        assert predict(node, {"instances": rows}).json == {"predictions": [3.0, 2.0]}
        loaded = tf.saved_model.load(str(MODELS / "examples_tf2" / "1")).signatures["classify"]
        want = loaded(inputs=tf.constant([example(x=2).SerializeToString()]))
        answer = ask(node, "POST", f"/v1/models/{node.model}:classify", {"signature_name": "classify", "examples": [{"x": 2.0}]})
        np.testing.assert_allclose([score for _, score in answer.json["results"][0]], want["scores"].numpy()[0], rtol=1e-5)
        assert [label.encode() for label, _ in answer.json["results"][0]] == list(want["classes"].numpy()[0])


# --------------------------------------------------------------------------------------------------- Status, metadata

@pytest.mark.contract("J16")
def test_the_status_has_all_its_fields(half):
    assert ask(half, "GET", HALF).json == {"model_version_status": [
        {"version": "1", "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}}]}


@pytest.mark.contract("J16", "E12")
@pytest.mark.parametrize("path, text", [
    ("/v1/models/x", "Could not find any versions of model x"),
    (HALF + "/versions/3", "Could not find version 3 of model half_plus_two_tf1")])
def test_the_status_of_an_unknown_model_or_version_is_404(half, path, text):
    answer = ask(half, "GET", path)
    assert (answer.status, answer.error) == (404, text)


@pytest.mark.contract("J17")
def test_the_metadata_have_the_form_of_tensorflow_serving(half):
    answer = ask(half, "GET", HALF + "/metadata").json
    assert answer["model_spec"] == {"name": half.model, "signature_name": "", "version": "1"}
    signature = answer["metadata"]["signature_def"]["signature_def"]["serving_default"]
    assert signature["method_name"] == "tensorflow/serving/predict"
    assert signature["defaults"] == {}
    assert signature["inputs"]["x"] == {
        "dtype": "DT_FLOAT", "name": "x:0", "tensor_shape": {"dim": [{"size": "-1", "name": ""}], "unknown_rank": False}}
