// The inputs that are sent: float32 values of a raw file, or lines of a file of texts, prepared for both protocols.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"
#include "tensorflow_serving/apis.pb.h"

namespace longshore::load {

struct SampleOptions {
  std::string model = "default";
  std::string signature;  // Name of the signature; "": the model's default.
  std::string input = "x";
  std::vector<int64_t> shape = {1};  // The shape of one request's input, including the batch dimension.
  Path data;                         // Little-endian float32 values of whole inputs; "": 64 small numbers.
  Path texts;           // Instead of numbers: whole inputs of texts, one per line, which ends in LF or CRLF.
  int64_t version = 0;  // The version that every request names; 0: requests name no version.
};

inline constexpr size_t kSamplesMax = 100'000;

struct Samples {
  std::vector<tensorflow::serving::PredictRequest> grpc;
  std::vector<std::string> rest_bodies;  // {"instances": [...]}, for each sample.
  std::string rest_path;                 // "/v1/models/NAME:predict"

  size_t size() const { return grpc.size(); }
};

// Returns InvalidArgument if the file does not contain whole inputs of this shape, or if both files are named.
Result<Samples> MakeSamples(const SampleOptions& options);

}  // namespace longshore::load
