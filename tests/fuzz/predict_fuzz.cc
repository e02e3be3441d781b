// Parses the input as a PredictRequest and runs the model "types" with it, as the gRPC server does.
#include "serving-node/inference/inputs.h"
#include "serving-node/tensor/proto.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/model.h"

const longshore::fuzz::Allowance longshore::fuzz::kAllowance = longshore::fuzz::kOfMessages;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static longshore::fuzz::Model model("types");
  tensorflow::serving::PredictRequest request;
  const bool is_request = request.ParseFromArray(data, static_cast<int>(size));
  longshore::fuzz::AddParsed(request.SpaceUsedLong());
  if (!is_request) return 0;
  auto run = longshore::inference::ToRunRequest(request, model->signatures());
  request.Clear();
  if (run) longshore::engine::RunAndWait(*model, std::move(*run));
  return 0;
}
