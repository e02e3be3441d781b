// Converts the input, as the body of a REST prediction, to tensors. The first byte selects the signature.
#include "serving-node/frontend/json/numbers.h"
#include "serving-node/frontend/json/request.h"
#include "serving-node/tensor/tensor.h"
#include "tests/fuzz/fuzz.h"

namespace longshore::fuzz {

const Allowance kAllowance = kOfRequests;

namespace {

using tensorflow::DataType;

tensorflow::SignatureDef SignatureOf(const std::map<std::string, DataType>& inputs) {
  tensorflow::SignatureDef signature;
  for (const auto& [name, type] : inputs) (*signature.mutable_inputs())[name].set_dtype(type);
  return signature;
}

const std::vector<tensorflow::SignatureDef>& Signatures() {
  static const std::vector<tensorflow::SignatureDef> all = [] {
    std::vector<tensorflow::SignatureDef> made;
    for (const DataType type : {tensorflow::DT_FLOAT, tensorflow::DT_STRING, tensorflow::DT_INT64, tensorflow::DT_BOOL,
                                tensorflow::DT_UINT8, tensorflow::DT_HALF, tensorflow::DT_DOUBLE}) {
      made.push_back(SignatureOf({{"x", type}}));
    }
    made.push_back(
        SignatureOf({{"a", tensorflow::DT_FLOAT}, {"b", tensorflow::DT_INT32}, {"c", tensorflow::DT_STRING}}));
    return made;
  }();
  return all;
}

// Reads every element, so that the sanitizers find a tensor with fewer values than its shape has. Copies none, because
// the fuzzer measures the memory of the reader.
void ReadAll(const tensor::Tensor& values) {
  size_t sum = 0;
  if (values.type() == tensor::DType::kString) {
    for (const std::string& text : values.values<std::string>()) sum += text.size();
  } else {
    for (size_t i = 0; i < values.bytes(); ++i) sum += static_cast<size_t>(values.data()[i]);
  }
  asm volatile("" : : "r"(sum));  // So that the compiler keeps the loops.
}

void Read(std::string_view body, const tensorflow::SignatureDef& signature) {
  const frontend::json::FindSignature find = [&](const std::string& name) -> Result<const tensorflow::SignatureDef*> {
    if (name == "serving_default") return &signature;
    return InvalidArgument("no signature {}", name);
  };
  auto read = frontend::json::NumbersFromJson(body, find);
  if (!read) {
    auto plain = frontend::json::PredictionFromJson(body, find);
    if (!plain) return;
    read = std::move(*plain);
  }
  for (const auto& [name, values] : read->inputs) ReadAll(values);
}

}  // namespace
}  // namespace longshore::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longshore::fuzz;
  if (size == 0) return 0;
  const auto& signatures = Signatures();
  Read(View(data + 1, size - 1), signatures[data[0] % signatures.size()]);
  return 0;
}
