"""Strings: case, parts, patterns, joins, splits, numbers, hashes, encodings, formatted tensors, CSV records."""

import ml_dtypes
import numpy as np
import tensorflow as tf

from op_cases.case import INF, INTS, NAN, case, f32, f64, flags, graph, i8, i32, i64, ramp, text, u8

NONE = np.zeros((0,), object)
# Characters of one to four bytes, invalid UTF-8 (a lone trail byte, a truncated character, a surrogate), and an
# embedded NUL.
WORDS = text("", "Hello World", "ÄÖ straße", "a\tb", " x ", "日本語 🎉!", b"\x80abc", b"ab\xe6\x97", b"\xed\xa0\x80x", b"a\0B c", "ΣΑΣ İı")


def scalar(value) -> np.ndarray:
    return np.array(value, object)


def cases_of_letters() -> None:
    for op in ("StringLower", "StringUpper", "StringStrip"):
        case(op, input=WORDS)
        case(op, input=scalar(" One\n"))
        case(op, input=text("AZaz@[`{", "\x0b\x0c\r az \x1f"))
        case(op, input=NONE)
    # TensorFlow stops at a NUL here; the engine continues.
    plain = np.array([w for w in WORDS if w != b"a\0B c"], object)
    for op in ("StringLower", "StringUpper"):
        case(op, input=plain, encoding="utf-8")
        case(op, input=text("ﬁn ǆ ŉ ΐ", "ÀÉ"), encoding="utf-8")
    for unit in ("BYTE", "UTF8_CHAR"):
        case("StringLength", input=WORDS, unit=unit)
        case("StringLength", input=text([["a", "é"], ["", "日"]]), unit=unit)


def parts() -> None:
    for unit in ("BYTE", "UTF8_CHAR"):
        for pos, length in ((0, 2), (1, 3), (-3, 2), (-3, 100), (0, 0), (0, -1), (2, -1), (-1, 1)):
            case("Substr", input=text("Hello", "日本語🎉", "ÄÖß."), pos=i32(pos), len=i32(length), unit=unit)
        for pos in (4, 5, 6, -5, -6, 2**31 - 1, -(2**31)):
            case("Substr", input=text(["Hello"]), pos=i32(pos), len=i32(1), unit=unit)
        case("Substr", input=text("Hello", "日本語🎉"), pos=i64(1, 2), len=i64(2, 1), unit=unit)
        case("Substr", input=text([["Hello", "World"], ["日本語🎉", "四つの字"]]), pos=i32(1, 2), len=i32(2, 1), unit=unit)
        case("Substr", input=text([["Hello"], ["World"]]), pos=i32(1, 2), len=i32(2, 1), unit=unit)
        case("Substr", input=scalar("Hello"), pos=i32(1, 2), len=i32(2, 1), unit=unit)
        case("Substr", input=scalar(b"\x80\x80a\xe6\x97b"), pos=i32(1), len=i32(2), unit=unit)
        case("Substr", input=scalar(""), pos=i32(0), len=i32(2), unit=unit)
        case("Substr", input=scalar(""), pos=i32(1), len=i32(0), unit=unit)
        case("Substr", input=NONE, pos=i32(5), len=i32(2), unit=unit)
    case("Substr", input=text("a", "b"), pos=i32(0, 0), len=i32([0]))
    case("Substr", input=text("a", "b"), pos=i32(0, 0, 0), len=i32(0, 0, 0))
    case("Substr", input=scalar("abc"), pos=i64(-(2**63)), len=i64(1))
    case("Substr", input=scalar("abc"), pos=i64(1), len=i64(2**63 - 1))
    case("Substr", input=scalar("日本語"), pos=i64(1), len=i64(2**63 - 1), unit="UTF8_CHAR")


def patterns() -> None:
    for pattern in (".*o.*", "", "[a-z ]*", "(?i)hello world", "\\pL*", "[^\\x00]*", "(?s).*", "\\C*"):
        case("StaticRegexFullMatch", input=WORDS, pattern=pattern)
        case("RegexFullMatch", input=WORDS, pattern=scalar(pattern))
    for bad in ("(", "a**", "\\1", "[z-a]", "(?<=a)b", "a{1001}"):
        case("RegexFullMatch", input=WORDS, pattern=scalar(bad))
        case("RegexReplace", input=WORDS, pattern=scalar(bad), rewrite=scalar(""))
    case("RegexFullMatch", input=WORDS, pattern=text("a", "b"))
    for pattern, rewrite in (("", "-"), ("a*", "x"), ("(\\w)(\\w)", "\\2\\1"), (".", "\\0\\0"), ("\\s+", ""), ("[äöÄÖ日]", "?"), ("^", ">"),
                             ("$", "<"), ("o", "\\\\"), ("o", "\\1"), ("o", "\\x"), ("(o)", "\\2"), ("l", ""), ("\\x00", "NUL"),
                             ("[!\"#$%&()*,/:;<=>?@\\[\\\\\\]^_`{|}~\t\n']", " ")):
        for all_of_them in (True, False):
            case("RegexReplace", input=WORDS, pattern=scalar(pattern), rewrite=scalar(rewrite), replace_global=all_of_them)
            case("StaticRegexReplace", input=WORDS, pattern=pattern, rewrite=rewrite, replace_global=all_of_them)
    case("RegexReplace", input=text([["a", "b"]]), pattern=scalar("a"), rewrite=scalar("b"))
    case("RegexReplace", input=NONE, pattern=scalar("a"), rewrite=scalar("b"))
    case("RegexReplace", input=WORDS, pattern=text(["a"]), rewrite=scalar("b"))
    case("RegexReplace", input=WORDS, pattern=scalar("a"), rewrite=text("b", "c"))


def joins() -> None:
    case("StringJoin", inputs=[text("a", "b"), scalar("-"), text("c", "d")])
    case("StringJoin", inputs=[scalar("-"), scalar("x")], separator="é")
    case("StringJoin", inputs=[text(["a"]), scalar("-"), text("c", "d")])
    case("StringJoin", inputs=[scalar("-"), NONE])
    case("StringJoin", inputs=[text(["a"])], separator=",")
    case("StringJoin", inputs=[scalar("-"), np.zeros((2, 0), object), scalar("+")])
    case("StringJoin", inputs=[text([["a"]]), text(["a"])])
    block = text([[["a", "b"], ["c", "d"], ["e", ""]], [["g", "h"], ["i", b"\0"], ["k", b"\xff"]]])
    for axes in ([0], [1], [2], [-1], [0, 1], [1, 0], [2, 0], [0, 1, 2], [2, 1, 0], [], [0, 0], [0, -3], [3], [-4]):
        for keep in (False, True):
            case("ReduceJoin", inputs=block, reduction_indices=i32(axes), keep_dims=keep, separator=".")
    case("ReduceJoin", inputs=text("a", "b"), reduction_indices=i32(0))
    case("ReduceJoin", inputs=scalar("a"), reduction_indices=i32([]))
    case("ReduceJoin", inputs=scalar("a"), reduction_indices=i32(0))
    case("ReduceJoin", inputs=np.zeros((2, 0), object), reduction_indices=i32(1))
    case("ReduceJoin", inputs=np.zeros((2, 0), object), reduction_indices=i32(0))
    case("ReduceJoin", inputs=np.zeros((0, 2), object), reduction_indices=i32([0, 1]))
    case("ReduceJoin", inputs=text([["a", "b"]]), reduction_indices=i32([[0]]))
    words = text("a", "b", "", "d", "e")
    for ids, count in (([0, 1, 0, 1, 2], 3), ([2, 2, 2, 2, 2], 3), ([0, -1, 0, -7, 0], 1), ([0, 1, 0, 1, 3], 3), ([0, 0, 0, 0, 0], 0),
                       ([0, 1, 2], 3), ([0] * 5, -1)):
        case("UnsortedSegmentJoin", inputs=words, segment_ids=i32(ids), num_segments=i32(count), separator="+")
    case("UnsortedSegmentJoin", inputs=text([["a", "b"], ["c", "d"], ["", "f"]]), segment_ids=i64(1, 0, 1), num_segments=i64(3),
         separator=",")
    case("UnsortedSegmentJoin", inputs=text([["a", "b"], ["c", "d"]]), segment_ids=i64([[1, 0], [1, 1]]), num_segments=i32(2))
    case("UnsortedSegmentJoin", inputs=text([["a", "b"], ["c", "d"]]), segment_ids=i64([[1, 0, 1]]), num_segments=i32(2))
    case("UnsortedSegmentJoin", inputs=NONE, segment_ids=np.zeros((0,), np.int32), num_segments=i32(2))


def splits() -> None:
    lines = text("", " ", "a b  c ", " lead", "one", "日本 語", "a,b,,c,", ",", b"x\0y z")
    for delimiter in (" ", ",", "", " ,", "b", "日"):
        for skip in (True, False):
            case("StringSplit", input=lines, delimiter=scalar(delimiter), skip_empty=skip)
    for separator in (" ", ",", "", "b  ", "日本"):
        for limit in (-1, 0, 1, 2, 100):
            case("StringSplitV2", input=lines, sep=scalar(separator), maxsplit=limit)
    case("StringSplitV2", input=text("aaaa", "aaa"), sep=scalar("aa"))
    for op, name in (("StringSplit", "delimiter"), ("StringSplitV2", "sep")):
        case(op, input=NONE, **{name: scalar("")})
        case(op, input=text("", ""), **{name: scalar("")})
        case(op, input=lines, **{name: text(",", " ")})
        case(op, input=lines, **{name: text([" "])})


def ngrams() -> None:
    words, rows = text("a", "bb", "", "d", "é", "f"), [0, 3, 3, 4, 6]
    pads = {"left_pad": "<", "right_pad": ">>", "separator": "|"}
    for widths in ([1], [2], [3], [1, 2], [4, 2], [6]):
        for pad in (0, 1, 2, -1):
            for short in (False, True):
                case("StringNGrams", data=words, data_splits=i64(rows), ngram_widths=widths, pad_width=pad, preserve_short_sequences=short,
                     **pads)
    two = {"ngram_widths": [2], "pad_width": 0, "preserve_short_sequences": False, **pads}
    case("StringNGrams", data=words, data_splits=i32(rows), **two)
    case("StringNGrams", data=words, data_splits=i32([0, 6]), **{**two, "separator": ""})
    case("StringNGrams", data=NONE, data_splits=i32([0, 0]), **two)
    case("StringNGrams", data=NONE, data_splits=i32([0]), **two)
    case("StringNGrams", data=NONE, data_splits=np.zeros((0,), np.int64), **two)
    for bad in ([0, 7], [0, 4, 3, 6], [1, 6], [0, 3], [-1, 6]):
        case("StringNGrams", data=words, data_splits=i64(bad), **two)


def numbers() -> None:
    floats = [0.0, -0.0, 1.5, 1e10, 1.23456789, NAN, INF, -INF, 1e-7, -2.5]
    for dtype in (np.float32, np.float64):
        for style in ({}, {"width": 12}, {"width": 12, "fill": "0"}, {"width": 9, "fill": "-"}, {"width": 9, "fill": "+", "precision": 1},
                      {"width": 9, "fill": " ", "scientific": True}, {"fill": "0"}, {"precision": 0}, {"width": 0}, {"width": 3, "fill": "#"},
                      {"shortest": True, "width": 8}, {"scientific": True, "shortest": True}, {"width": 3, "fill": "*"}, {"fill": "ab"}):
            case("AsString", input=np.array(floats, dtype), **style)
    for style in ({}, {"width": 6}, {"width": 6, "fill": "0"}, {"width": 6, "fill": "-"}, {"width": 6, "fill": "+"}, {"precision": 2},
                  {"scientific": True}, {"shortest": True}):
        case("AsString", input=i32(INTS), **style)
        case("AsString", input=i64(2**62, -(2**63), 5), **style)
        case("AsString", input=u8(0, 255), **style)
        case("AsString", input=i8(-128, 127), **style)
        case("AsString", input=flags(True, False), **style)
    case("AsString", input=text("a", ""))
    case("AsString", input=np.zeros((0, 2), np.float32))
    case("AsString", input=f32(1e30, 3.4028235e38))
    numbers = text("1e3", "0x1p3", "1_000", "1e", "1e+", "infinityx", "nan(1)", "1\0", "١", "1f", "0x", "1e-400", "-", "+", ".", "1.e2",
                   "++1")
    for to in (np.float32, np.float64, np.int32, np.int64):
        for number in numbers:
            case("StringToNumber", string_tensor=text([number]), out_type=to)
        for number in ("2147483648", "-2147483648", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "-0"):
            case("StringToNumber", string_tensor=text([number]), out_type=to)
        case("StringToNumber", string_tensor=scalar("7"), out_type=to)
        case("StringToNumber", string_tensor=NONE, out_type=to)


def hashes() -> None:
    long = text(*["x" * n for n in list(range(70)) + [127, 128, 129, 1000]])
    for words in (WORDS, long, scalar("a"), NONE):
        for buckets in (1, 2, 10, 2**62):
            case("StringToHashBucketFast", input=words, num_buckets=buckets)
            case("StringToHashBucket", string_tensor=words, num_buckets=buckets)
            case("StringToHashBucketStrong", input=words, num_buckets=buckets, key=[123, 456])
        case("StringToHashBucketStrong", input=words, num_buckets=2**63 - 1, key=[-1, 2**63 - 1])
    method = scalar("farmhash64")
    for data in (WORDS, long, text([["a", "b"], ["", "é"]]), i32(INTS), ramp(3, 5), f32([[1], [2]]), i64([[[1, 2]]]), flags(True, False),
                 NONE,
                 np.zeros((0, 3), np.float32), np.zeros((2, 0), np.float32)):
        case("Fingerprint", data=data, method=method)
    # For rows without strings TensorFlow returns uninitialised memory.
    case("Fingerprint", data=scalar("a"), method=method)
    case("Fingerprint", data=f32(1.0), method=method)
    case("Fingerprint", data=WORDS, method=scalar("md5"))


def base64() -> None:
    for pad in (False, True):
        case("EncodeBase64", input=WORDS, pad=pad)
        case("EncodeBase64", input=text(b"\xff\xfe\xfd", b"\xff", b"\xfb\xef"), pad=pad)
        case("EncodeBase64", input=NONE, pad=pad)
    case("DecodeBase64", input=text("", "YQ", "YQ==", "YWI", "YWI=", "YWJj", "_-_-", "YR", "YWJjZA", "YWJjZA=="))
    for bad in ("Y", "YWJjZ", "+/+/", "YQ=", "Y===", "====", "=", "YQ==YQ==", "YQ=a", "Y Q=", "YWJj\n", "YQé", "YWJjYQ=", "YWJj====",
                "YWJj="):
        case("DecodeBase64", input=text([bad]))


def padded() -> None:
    for kind in (np.uint8, np.int16, np.float32, np.int64):
        for little in (True, False):
            case("DecodePaddedRaw", input_bytes=text("abcdefgh", "", "abc", b"\xff\0" * 20), fixed_length=i32(8), out_type=kind,
                 little_endian=little)
    for length in (0, -4, 3, 6):
        case("DecodePaddedRaw", input_bytes=text("abcdefgh", "ab"), fixed_length=i32(length), out_type=np.int16)
    case("DecodePaddedRaw", input_bytes=scalar("abc"), fixed_length=i32(4), out_type=np.uint8)
    case("DecodePaddedRaw", input_bytes=NONE, fixed_length=i32(4), out_type=np.uint8)
    case("DecodePaddedRaw", input_bytes=text(["abc"]), fixed_length=i32([4]), out_type=np.uint8)


def unicode() -> None:
    bad = text(b"a\x80b", b"\xe6\x97", b"\xed\xa0\x80x", b"\xf0\x9f\x8e", b"\xc0\xafz", b"\xff\xfe", b"ok", b"\xf4\x90\x80\x80",
               b"\x01a\n", b"\x1fa\x7f ", b"a\0b", "日🎉")
    for errors in ("replace", "ignore", "strict"):
        for given in (bad, text("ok", "日本🎉"), NONE):
            style = {"errors": errors, "replacement_char": 63}
            case("UnicodeDecode", input=given, input_encoding="UTF-8", **style)
            case("UnicodeDecodeWithOffsets", input=given, input_encoding="UTF-8", replace_control_characters=True, **style)
            for output in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
                case("UnicodeTranscode", input=given, input_encoding="UTF-8", output_encoding=output, **style)
            case("UnicodeTranscode", input=given, input_encoding="UTF-8", output_encoding="UTF-8", replace_control_characters=True, **style)
        case("UnicodeEncode", input_values=i32(97, 0x65E5, 0x1F389, 0xD800, 0x110000, -1, 0xFFFE, 0), input_splits=i64(0, 2, 2, 8),
             output_encoding="UTF-8", errors=errors)
    case("UnicodeTranscode", input=text(b"caf\xe9", b"\x80"), input_encoding="ISO-8859-1", output_encoding="UTF-8")
    case("UnicodeTranscode", input=text(b"caf\xe9", b"\x80", b"\x81"), input_encoding="windows-1252", output_encoding="UTF-8")
    case("UnicodeTranscode", input=text(b"\xd8\x3c\xdf\x89\x00a", b"\xd8\x3c", b"\x00"), input_encoding="UTF-16-BE",
         output_encoding="UTF-8")
    case("UnicodeTranscode", input=text(b"\xfe\xff\x00a", b"\xff\xfea\x00"), input_encoding="UTF-16", output_encoding="UTF-8")
    case("UnicodeTranscode", input=text(b"\x93\xfa\x96\x7b", b"\x93"), input_encoding="Shift_JIS", output_encoding="UTF-8")
    case("UnicodeTranscode", input=text(["a"]), input_encoding="nonsense", output_encoding="UTF-8")
    case("UnicodeDecode", input=text([["a", "bc"], ["", "é"]]), input_encoding="UTF-8", Tsplits=np.int32)
    case("UnicodeDecode", input=scalar("é"), input_encoding="UTF-8")
    case("UnicodeEncode", input_values=i32(97, 0x65E5, 0x1F389), input_splits=i32(0, 1, 3), output_encoding="UTF-16-BE")
    case("UnicodeEncode", input_values=i32(97, 0x65E5, 0x1F389), input_splits=i32(0, 1, 3), output_encoding="UTF-32-BE")
    for splits in ([0, 4], [0, 2], [1, 3], [0, 2, 1, 3], []):
        case("UnicodeEncode", input_values=i32(97, 98, 99), input_splits=i64(splits), output_encoding="UTF-8")
    case("UnicodeScript", input=i32(97, 0x65E5, 0x3042, 0x0416, -1, 0x110000, 33, 0x0E01))


def quantized(type_) -> np.ndarray:
    return np.array([(1,), (2,), (3,)], type_.as_numpy_dtype)


def formats() -> None:
    floats = [0.0, -0.0, 1.5, 0.1, 1e9, 1e10, 123456789, 1e16, 1e-4, 1e-5, 1e-7, 3.4028235e38, 1e-45, NAN, INF, -INF, -2.5, 1e21, 16777216, 2 / 3]
    f16 = np.array([0.1, 1e-7, 65504, NAN, INF, 2 / 3], np.float16)
    for values in (f32(floats), f64(floats), f64(2 / 3, 1e100, 5e-324, 1.7976931348623157e308, 123456789012345678), f16, f16.astype(ml_dtypes.bfloat16),
                   i32(INTS), i64(2**62, -(2**63), 5), u8(0, 255), i8(-128, 127), np.array([0, 65535], np.uint16),
                   np.array([-(2**15)], np.int16), np.array([2**32 - 1], np.uint32), np.array([2**64 - 1], np.uint64),
                   flags(True, False), quantized(tf.qint32), quantized(tf.qint8), quantized(tf.quint16), WORDS,
                   text("\"q\" 'r' \\ \n\r\t\x01\x7f"), NONE, scalar("a\"b"), f32(2.5),
                   np.array(True), np.array(7, np.int32)):
        for summarize in (-1, 0, 1, 3, 100):
            case("StringFormat", inputs=[values], template="<%s>", summarize=summarize)
    for shape in ((0,), (0, 2), (2, 0), (2, 0, 3), (1, 1), (5,), (6,), (7,), (1, 7), (3, 4, 5), (2, 1, 2, 9), (8, 1, 1)):
        for summarize in (-1, 0, 1, 2, 3):
            case("StringFormat", inputs=[ramp(*shape)], summarize=summarize)
        case("StringFormat", inputs=[np.zeros(shape, bool)])
    one, two = i32(1), text("a", "b")
    case("StringFormat", inputs=[one, two, one], template="%s, %s and %s.")
    case("StringFormat", inputs=[one, two], template="{}{}", placeholder="{}")
    case("StringFormat", inputs=[one, one, one], template="abcd", placeholder="")
    case("StringFormat", inputs=[one], template="aaa", placeholder="aa")
    case("StringFormat", inputs=[one], template="%%s é")
    for inputs, template in (([one], "%s%s"), ([one, one], "%s"), ([one], "")):
        case("StringFormat", inputs=inputs, template=template)
    graph("StringFormat", lambda feed: [tf.raw_ops.StringFormat(inputs=[], template="no %d")])
    graph("StringFormat", lambda feed: [tf.raw_ops.StringFormat(inputs=[], template="", placeholder="")])


def records() -> None:
    one, none = text(["d"]), NONE
    for record in ("a,b", "a,", ",b", ",", "", "\n", "\na,b", "a\n,b", "a,b\n", "a,b\r\n", "\"a\",b", "\"a", "\"a\"x,b", "\"a\"\"b\",c", "\"\",c",
                   "\"a\n\",b", "a\"b,c", "\"a,b\",c", "\"", "\"a\"", "\"a\",", "\"\"\"\",x", "a,\"\"", "a,\"b\"\"", "a,\"\"\"", "a,\"b\"c\"", "\n\"a\",b",
                   "\"a\",\nb", "a,b,c", "a", "a;b", "NA,b", "\"NA\",b", " , ", b"a\0,\xff", "é,日"):
        for absent in (one, none):
            case("DecodeCSV", records=text([record]), record_defaults=[absent, absent])
        case("DecodeCSV", records=text([record]), record_defaults=[one, one], use_quote_delim=False)
        case("DecodeCSV", records=text([record]), record_defaults=[one, none], na_value="NA")
        case("DecodeCSV", records=text([record]), record_defaults=[one], select_cols=[1])
        case("DecodeCSV", records=text([record]), record_defaults=[one, one], select_cols=[0, 2])
        case("DecodeCSV", records=text([record]), record_defaults=[one, one], field_delim=";")
        case("DecodeCSV", records=text([record]), record_defaults=[one, one], field_delim="\"")
        case("DecodeCSV", records=text([record]), record_defaults=[one, one], field_delim="\n")
    for number in ("1", " 1", "1 ", "+1", "-1", "2147483648", "9223372036854775808", "1.5", "0x10", "1e3", "nan", "-inf", "", "NA", "x", "1_0", "1f", "1e400"):
        for absent in (i32([7]), i64([7]), f32([0.5]), f64([0.5]), np.zeros((0,), np.int32), np.zeros((0,), np.float32)):
            case("DecodeCSV", records=text([number + ",z"]), record_defaults=[absent, one], na_value="NA")
    mixed = [i32([1]), i64([2]), f32([3]), f64([4]), one]
    rows = text("1,2,3,4,5", ",,,,", "-1,-2,-3.5,-4e300,\"a,b\"")
    case("DecodeCSV", records=rows, record_defaults=mixed)
    case("DecodeCSV", records=rows, record_defaults=mixed[:2], select_cols=[0, 4])
    case("DecodeCSV", records=rows, record_defaults=mixed[3:], select_cols=[3, 4])
    case("DecodeCSV", records=text([["1,a"], ["2,b"]]), record_defaults=[i32([1]), one])
    case("DecodeCSV", records=scalar("1,a"), record_defaults=[i32(3), scalar("x")])
    case("DecodeCSV", records=scalar(","), record_defaults=[i32(3), scalar("x")])
    case("DecodeCSV", records=NONE, record_defaults=[i32([1]), one])
    case("DecodeCSV", records=text("1,a", "2"), record_defaults=[i32([1]), one])
    for columns in ([1, 0], [1, 1], [-1, 0], [0], [0, 1, 2], [0, 5]):
        case("DecodeCSV", records=text(["1,2"]), record_defaults=[i32([1]), i32([1])], select_cols=columns)
    for delimiter in ("", ";;", "\0"):
        case("DecodeCSV", records=text(["1,2"]), record_defaults=[i32([1]), i32([1])], field_delim=delimiter)
    for absent in (i32([[3]]), i32(3, 4), np.zeros((0, 2), np.int32)):
        case("DecodeCSV", records=text(["1,2"]), record_defaults=[absent, i32([1])])


for family in (cases_of_letters, parts, patterns, joins, splits, ngrams, numbers, hashes, base64, padded, unicode, formats, records):
    family()
