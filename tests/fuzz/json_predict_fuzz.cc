// Converts the input, as the body of a REST prediction, to tensors. The first byte selects the signature.
#include "serving-node/frontend/json/numbers.h"
#include "serving-node/frontend/json/request.h"
#include "serving-node/tensor/proto.h"
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

// Checks that the number of values fits the shape.
void CheckIsWhole(const tensorflow::TensorProto& proto) {
  int64_t elements = 1;
  for (const auto& dim : proto.tensor_shape().dim()) elements *= dim.size();
  const size_t element_bytes = tensor::ElementBytes(tensor::FromProto(proto.dtype()));
  if (proto.dtype() == tensorflow::DT_STRING) CHECK(proto.string_val_size() == elements);
  if (element_bytes > 0) CHECK(proto.tensor_content().size() == static_cast<size_t>(elements) * element_bytes);
}

void Read(std::string_view body, const tensorflow::SignatureDef& signature) {
  const frontend::json::FindSignature find = [&](const std::string& name) -> Result<const tensorflow::SignatureDef*> {
    if (name == "serving_default") return &signature;
    return InvalidArgument("no signature {}", name);
  };
  tensorflow::serving::PredictRequest request;
  if (!frontend::json::NumbersFromJson(body, find, &request) &&
      !frontend::json::PredictRequestFromJson(body, find, &request)) {
    return;
  }
  for (const auto& [name, proto] : request.inputs()) CheckIsWhole(proto);
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
