// Parses the input as a PredictRequest and runs the model "types" with it, as the gRPC server does. Generated code must
// read the same tensors, or refuse the input as well.
#include "serving-node/inference/inputs.h"
#include "serving-node/tensor/proto.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/model.h"

namespace longshore::fuzz {

const Allowance kAllowance = kOfMessages;

namespace {

Result<engine::RunRequest> Read(std::string_view bytes, const inference::Signatures& signatures) {
  ASSIGN_OR_RETURN(const auto request, inference::Request::Parse(Pieces(std::string(bytes))));
  return inference::ToRunRequest(request, signatures);
}

// Returns the bytes of a tensor.
std::string Show(const tensor::Tensor& values) {
  tensorflow::TensorProto proto;
  tensor::ToProto(values, &proto, tensor::Encoding::kContent);
  return proto.SerializeAsString();
}

// Checks that the codec has read what generated code reads. A request that was refused for another reason than one of
// its tensors is not compared.
void Compare(const Result<engine::RunRequest>& run, const tensorflow::serving::PredictRequest& message) {
  for (const auto& [name, proto] : message.inputs()) {
    const auto values = tensor::FromProto(proto, tensor::kFilledBytesMaxForRequests);
    if (run) CHECK(values && Show(*values) == Show(run->inputs.at(name)));
    if (!run && run.error().message == "tensor parsing error: " + name) CHECK(!values);
  }
}

}  // namespace
}  // namespace longshore::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longshore;
  static fuzz::Model model("types");
  auto run = fuzz::Read(fuzz::View(data, size), model->signatures());
  tensorflow::serving::PredictRequest message;
  if (!message.ParseFromArray(data, static_cast<int>(size))) {
    CHECK(!run);
    return 0;
  }
  fuzz::AddParsed(message.SpaceUsedLong());
  fuzz::Compare(run, message);
  message.Clear();
  if (run) engine::RunAndWait(*model, std::move(*run));
  return 0;
}
