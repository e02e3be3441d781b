// Runs the model "examples_tf2" with the input as a tf.Example, which the model's op ParseExample parses.
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/model.h"

const longshore::fuzz::Allowance longshore::fuzz::kAllowance = longshore::fuzz::kOfRequests;

namespace longshore::fuzz {
namespace {

// The signature whose only input is tf.Examples.
std::string ExampleSignature(engine::LoadedModel& model) {
  for (const auto& [name, signature] : model.signatures()) {
    if (signature.inputs_size() == 1 && signature.inputs().begin()->second.dtype() == tensorflow::DT_STRING)
      return name;
  }
  CHECK(false);
}

}  // namespace
}  // namespace longshore::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longshore;
  static fuzz::Model model("examples_tf2");
  static const std::string signature = fuzz::ExampleSignature(*model);
  static const std::string input = model->signatures().at(signature).inputs().begin()->first;
  engine::RunRequest run{signature, {}, {}};
  run.inputs.emplace(input, tensor::Tensor::Of<std::string>({1}, {std::string(fuzz::View(data, size))}));
  engine::RunAndWait(*model, std::move(run));
  return 0;
}
