"""Exports models, and defines those that need no training: lines, and one of strings that needs its initialiser."""

import pathlib
import tempfile

import tensorflow as tf

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


class Line(tf.Module):
    """y = a * x + b"""

    def __init__(self, a: float, b: float):
        super().__init__()
        self.a = tf.Variable(a, name="a")
        self.b = tf.Variable(b, name="b")

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def serve(self, x):
        return {"y": self.a * x + self.b}


def export_line(path: pathlib.Path, a: float, b: float) -> None:
    line = Line(a, b)
    tf.saved_model.save(line, str(path), signatures=line.serve)


def export_line_tf1(path: pathlib.Path, a: float, b: float) -> None:
    """A model in the format of TensorFlow 1: a graph without functions, with reference variables and a placeholder."""
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None], name="x")
        variables = {name: v1.get_variable(name, initializer=value, use_resource=False)
                     for name, value in (("a", a), ("b", b))}
        y = tf.add(tf.multiply(variables["a"], x), variables["b"], name="y")
        session.run(v1.global_variables_initializer())
        signature = v1.saved_model.predict_signature_def({"x": x}, {"y": y})
        builder = v1.saved_model.Builder(str(path))
        builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature})
        builder.save()


def export_examples_tf1(path: pathlib.Path, a: float, b: float) -> None:
    """A model like those of TensorFlow 1's estimators: classify and regress take tf.Examples, predict takes `x` itself."""
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        serialized = v1.placeholder(tf.string, [None], name="tf_example")
        features = v1.io.parse_example(serialized, {
            "x": tf.io.FixedLenFeature([1], tf.float32),
            "x2": tf.io.FixedLenFeature([1], tf.float32, default_value=[0.0]),
        })
        variables = {name: v1.get_variable(name, initializer=value, use_resource=False)
                     for name, value in (("a", a), ("b", b))}
        x = tf.identity(features["x"], name="x")
        y = tf.add(tf.multiply(variables["a"], x), variables["b"], name="y")
        y2 = tf.add(tf.multiply(variables["a"], features["x2"]), variables["b"], name="y2")
        labels = tf.where(y > 0, tf.fill(tf.shape(y), "above"), tf.fill(tf.shape(y), "below"))
        session.run(v1.global_variables_initializer())
        sign = v1.saved_model
        builder = sign.Builder(str(path))
        builder.add_meta_graph_and_variables(session, ["serve"], {
            "serving_default": sign.predict_signature_def({"x": x}, {"y": y}),
            "regress_x": sign.regression_signature_def(serialized, y),
            "regress_x2": sign.regression_signature_def(serialized, y2),
            "classify_x": sign.classification_signature_def(serialized, labels, y),
            "classify_scores": sign.classification_signature_def(serialized, None, y),
        })
        builder.save()


class Examples(tf.Module):
    """A line over the sum of all numbers of a tf.Example: an optional `x`, and `more`, which has any number of values."""

    def __init__(self, a: float, b: float):
        super().__init__()
        self.a = tf.Variable(a, name="a")
        self.b = tf.Variable(b, name="b")

    def line(self, serialized):
        features = tf.io.parse_example(serialized, {
            "x": tf.io.FixedLenFeature([], tf.float32, default_value=0.0),
            "more": tf.io.FixedLenSequenceFeature([], tf.float32, allow_missing=True, default_value=0.0),
        })
        return self.a * (features["x"] + tf.reduce_sum(features["more"], axis=1)) + self.b

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="inputs")])
    def regress(self, inputs):
        return {"outputs": self.line(inputs)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="inputs")])
    def classify(self, inputs):
        scores = tf.sigmoid(self.line(inputs))
        classes = tf.tile([["above", "below"]], [tf.shape(scores)[0], 1])
        return {"classes": classes, "scores": tf.stack([scores, 1 - scores], axis=1)}


def export_examples_tf2(path: pathlib.Path, a: float, b: float) -> None:
    examples = Examples(a, b)
    tf.saved_model.save(examples, str(path), signatures={"serving_default": examples.regress, "classify": examples.classify})


TYPES = ("float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint32", "uint64", "bool",
         "string", "qint8", "quint8", "qint16", "quint16", "qint32")


def export_types(path: pathlib.Path) -> None:
    """A signature per type that returns its input, and some signatures whose outputs JSON represents in special ways."""
    def echo(dtype):
        @tf.function(input_signature=[tf.TensorSpec(None, tf.as_dtype(dtype), name="x")])
        def serve(x):
            return {"y": tf.identity(x)}
        return serve

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="x")])
    def text_and_bytes(x):
        return {"y_bytes": tf.identity(x), "y_text": tf.identity(x)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def sums(x):
        return {"same": tf.identity(x), "sum": tf.reduce_sum(x)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="a"), tf.TensorSpec([None], tf.int32, name="b")])
    def two(a, b):
        return {"y": a + tf.cast(b, tf.float32)}

    served = tf.Module()
    served.functions = {dtype: echo(dtype) for dtype in TYPES} | {"bytes": text_and_bytes, "sums": sums, "two": two}
    signatures = served.functions | {"serving_default": served.functions["float32"]}
    tf.saved_model.save(served, str(path), signatures=signatures)


class Words(tf.Module):
    """Looks up number words and ignores their case. The table comes from an asset file; only the initialiser fills it."""

    def __init__(self, vocabulary: str):
        super().__init__()
        initializer = tf.lookup.TextFileInitializer(
            vocabulary, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER)
        self.table = tf.lookup.StaticHashTable(initializer, default_value=-1)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="word")])
    def serve(self, word):
        lower = tf.strings.lower(word)
        return {
            "number": self.table.lookup(lower),
            "length": tf.strings.length(word),
            "greeting": tf.strings.join(["hello", lower], separator=" "),
        }


def export_words(path: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        vocabulary = pathlib.Path(folder) / "words.txt"
        vocabulary.write_text("\n".join(WORDS) + "\n")
        words = Words(str(vocabulary))
        tf.saved_model.save(words, str(path), signatures=words.serve)


class Served(tf.Module):
    """A function of a Keras model, saved with the variables of the model and nothing else."""

    def __init__(self, model, serve):
        super().__init__()
        # TensorFlow variables, not Keras ones: the restore function of the graph, which servers run, only restores
        # these.
        self.kept = [variable.value for variable in model.variables]
        self.serve = serve


def export_keras(path: pathlib.Path, model) -> None:
    model.export(str(path), verbose=False)


def export_plain(path: pathlib.Path, model) -> None:
    """For large models: Keras' own export stores every variable twice and every layer as a function. The signatures are the same."""
    @tf.function(input_signature=[tf.TensorSpec([None, 8, 8, 1], tf.float32, name="image")])
    def serve(image):
        return model({"image": image})

    tf.saved_model.save(Served(model, serve), str(path), signatures={"serve": serve, "serving_default": serve})


def export_bytes_digits(path: pathlib.Path, classifier) -> None:
    """A model whose input `image_bytes` has a string of 64 bytes 0..16 for each image."""
    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="image_bytes")])
    def serve(image_bytes):
        pixels = tf.cast(tf.io.decode_raw(image_bytes, tf.uint8), tf.float32) / 16
        probabilities = classifier(tf.reshape(pixels, [-1, 8, 8, 1]))
        return {"probabilities": probabilities, "label": tf.argmax(probabilities, axis=-1)}

    tf.saved_model.save(Served(classifier, serve), str(path), signatures=serve)
