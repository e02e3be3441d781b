"""Writes TFRecord files of tensorflow.serving.PredictionLog: warm-up requests and golden sets."""

import pathlib

import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_log_pb2

import data

WARMUP = pathlib.Path("assets.extra/tf_serving_warmup_requests")
WARMUP_BATCHES = (1, 8, 2, 4)


def _request(images: np.ndarray) -> predict_pb2.PredictRequest:
    request = predict_pb2.PredictRequest()
    request.model_spec.name = "digits"
    request.model_spec.signature_name = "serving_default"
    request.inputs["image"].CopyFrom(tf.make_tensor_proto(images, tf.float32))
    return request


def _write(path: pathlib.Path, logs: list[prediction_log_pb2.PredictLog]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for log in logs:
            writer.write(prediction_log_pb2.PredictionLog(predict_log=log).SerializeToString(deterministic=True))


def write_warmup(version_dir: pathlib.Path, train: data.Images) -> None:
    images = train.where(train.has_left_ink()).images
    logs = [prediction_log_pb2.PredictLog(request=_request(images[:batch])) for batch in WARMUP_BATCHES]
    _write(version_dir / WARMUP, logs)


def write_golden(path: pathlib.Path, golden: data.Images) -> None:
    """Writes one image per record. The expected response is the true label, not the answer of a model."""
    logs = []
    for image, label in zip(golden.images, golden.labels):
        log = prediction_log_pb2.PredictLog(request=_request(image[np.newaxis]))
        truth = np.eye(10, dtype=np.float32)[[label]]
        log.response.outputs["probabilities"].CopyFrom(tf.make_tensor_proto(truth))
        log.response.outputs["label"].CopyFrom(tf.make_tensor_proto(np.array([label]), tf.int64))
        logs.append(log)
    _write(path, logs)
