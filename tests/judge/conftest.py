"""Compares a running longshore-node (LONGSHORE_NODE) with real TensorFlow, which is the reference for every answer."""

import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "judge"), str(ROOT / "tests" / "models")]
