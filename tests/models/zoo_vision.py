"""Networks for images: those of keras.applications, and one that decodes JPEG files."""

import pathlib

import keras
import numpy as np
import tensorflow as tf
from keras import layers

import zoo_inputs

CALIBRATION_IMAGES = 8
# With this spread some classes are likely; probabilities of 1/1000 each would hide errors. With a spread of 3 the
# rounding of float32 alone comes close to the tolerance of the judge: ResNet50 differs from its results in float64 by
# 5.3e-5 in TensorFlow, and by 7.3e-5 in this engine.
LOGITS_SPREAD = 2.0


def _randomize_norms(model: keras.Model) -> list[layers.BatchNormalization]:
    """Gives batch normalisations random parameters. With momentum 0 the next batch determines their statistics."""
    random = np.random.default_rng(21)
    norms = [layer for layer in model._flatten_layers() if isinstance(layer, layers.BatchNormalization)]
    for norm in norms:
        norm.momentum = 0.0
        if norm.scale:
            norm.gamma.assign(random.uniform(0.7, 1.3, norm.gamma.shape))
        if norm.center:
            norm.beta.assign(random.normal(0, 0.2, norm.beta.shape))
    return norms


def _calibrate(model: keras.Model, images: np.ndarray) -> None:
    """Sets statistics and logits from example images. Otherwise the activations of an untrained deep network vanish or explode."""
    norms = _randomize_norms(model)
    model([images], training=True)
    for norm in norms:
        norm.momentum = 0.99
    head = model.layers[-1]
    logits = keras.Model(model.inputs, model.layers[-2].output)([images], training=False) @ head.kernel
    head.kernel.assign(head.kernel * LOGITS_SPREAD / keras.ops.std(logits - keras.ops.mean(logits, 0)))


def _export(path: pathlib.Path, application, size: int, brightest: int = 1) -> None:
    keras.utils.set_random_seed(20)
    image = keras.Input((size, size, 3), name="image")
    model = application(weights=None, input_tensor=image)
    _calibrate(model, zoo_inputs.images(size, brightest)(CALIBRATION_IMAGES)["image"])
    keras.Model({"image": image}, {"probabilities": model.output}).export(str(path), verbose=False)


def resnet50(path: pathlib.Path) -> None:
    _export(path, keras.applications.ResNet50, 224)


def mobilenet_v2(path: pathlib.Path) -> None:
    _export(path, keras.applications.MobileNetV2, 224)


def efficientnet_b0(path: pathlib.Path) -> None:
    _export(path, keras.applications.EfficientNetB0, 224, 255)


def inception_v3(path: pathlib.Path) -> None:
    _export(path, keras.applications.InceptionV3, 299)


def densenet121(path: pathlib.Path) -> None:
    _export(path, keras.applications.DenseNet121, 224)


def _small(size: int) -> keras.Model:
    """A small network with separable convolutions, like MobileNet."""
    image = keras.Input((size, size, 3), name="image")
    x = layers.Conv2D(8, 3, strides=2, padding="same", use_bias=False)(image)
    for filters, strides in ((16, 1), (24, 2)):
        x = layers.ReLU(6.0)(layers.BatchNormalization()(x))
        x = layers.DepthwiseConv2D(3, strides=strides, padding="same", use_bias=False)(x)
        x = layers.ReLU(6.0)(layers.BatchNormalization()(x))
        x = layers.Conv2D(filters, 1, use_bias=False)(x)
    x = layers.GlobalAveragePooling2D()(layers.BatchNormalization()(x))
    return keras.Model(image, layers.Dense(10, activation="softmax")(x))


class FromJpeg(tf.Module):
    def __init__(self, network: keras.Model, size: int):
        super().__init__()
        self.network, self.size = network, size
        self.kept = [variable.value for variable in network.variables]

    def decode(self, jpeg):
        image = tf.image.convert_image_dtype(tf.io.decode_jpeg(jpeg, channels=3), tf.float32)
        return tf.image.resize(image, [self.size, self.size])

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="image_bytes")])
    def serve(self, image_bytes):
        spec = tf.TensorSpec([self.size, self.size, 3], tf.float32)
        return {"probabilities": self.network(tf.map_fn(self.decode, image_bytes, fn_output_signature=spec))}


def jpeg(path: pathlib.Path) -> None:
    keras.utils.set_random_seed(22)
    network = _small(32)
    _calibrate(network, zoo_inputs.images(32)(CALIBRATION_IMAGES)["image"])
    served = FromJpeg(network, 32)
    tf.saved_model.save(served, str(path), signatures=served.serve)
