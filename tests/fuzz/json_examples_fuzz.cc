// Converts the input, as the body of a REST classification or regression, to tf.Examples.
#include "serving-node/frontend/json/example.h"
#include "tests/fuzz/fuzz.h"

const longshore::fuzz::Allowance longshore::fuzz::kAllowance = longshore::fuzz::kOfMessages;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tensorflow::serving::ModelSpec spec;
  tensorflow::serving::Input input;
  const auto read = longshore::frontend::json::ExamplesFromJson(longshore::fuzz::View(data, size), &spec, &input);
  longshore::fuzz::AddParsed(input.SpaceUsedLong());
  CHECK(!read || input.kind_case() != tensorflow::serving::Input::KIND_NOT_SET);
  return 0;
}
