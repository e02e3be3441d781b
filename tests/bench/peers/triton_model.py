"""The model `identity` for Triton's Python backend: y is x."""

import os
import sys

sys.path.append(os.environ["LONGSHORE_PACKAGES"])  # Triton's stub ignores PYTHONPATH.

import triton_python_backend_utils as triton  # noqa: E402


class TritonPythonModel:
    def execute(self, requests):
        return [triton.InferenceResponse([triton.Tensor("y", triton.get_input_tensor_by_name(request, "x").as_numpy())])
                for request in requests]
