#include "serving-node/frontend/oip/metadata.h"

#include <map>

#include "common/base/text.h"
#include "serving-node/frontend/oip/codec/datatype.h"
#include "serving-node/inference/inference.h"
#include "serving-node/tensor/info.h"

namespace longshore::frontend::oip {
namespace {

using ::inference::ModelMetadataResponse;

constexpr const char* kServerName = "longshore";
constexpr const char* kExtensions[] = {"classification",
                                       "model_repository",
                                       "schedule_policy",
                                       "model_configuration",
                                       "binary_tensor_data",
                                       "parameters",
                                       "statistics",
                                       "trace",
                                       "logging"};

// The tensors in the order of their names.
using Tensors = std::map<std::string, const tensorflow::TensorInfo*>;

Tensors Sorted(const google::protobuf::Map<std::string, tensorflow::TensorInfo>& infos) {
  Tensors tensors;
  for (const auto& [name, info] : infos) tensors[name] = &info;
  return tensors;
}

tensor::Shape ShapeOf(const tensorflow::TensorInfo& info) { return tensor::PatternOf(info).value_or(tensor::Shape()); }

void Fill(const Tensors& tensors, google::protobuf::RepeatedPtrField<ModelMetadataResponse::TensorMetadata>* list) {
  for (const auto& [name, info] : tensors) {
    auto& tensor = *list->Add();
    tensor.set_name(ValidUtf8(name));
    tensor.set_datatype(std::string(codec::DatatypeName(tensor::FromProto(info->dtype()))));
    const tensor::Shape shape = ShapeOf(*info);
    tensor.mutable_shape()->Assign(shape.begin(), shape.end());
  }
}

template <typename ConfigTensor>
void FillConfig(const Tensors& tensors, google::protobuf::RepeatedPtrField<ConfigTensor>* list) {
  for (const auto& [name, info] : tensors) {
    auto& tensor = *list->Add();
    tensor.set_name(ValidUtf8(name));
    tensor.set_data_type(codec::ConfigTypeOf(tensor::FromProto(info->dtype())));
    const tensor::Shape shape = ShapeOf(*info);
    tensor.mutable_dims()->Assign(shape.begin(), shape.end());
  }
}

}  // namespace

Result<const tensorflow::SignatureDef*> DefaultSignature(const Signatures& signatures) {
  const std::string name = longshore::inference::SignatureName("");
  const auto found = signatures.find(name);
  if (found == signatures.end()) return FailedPrecondition("Serving signature key \"{}\" not found.", name);
  return &found->second;
}

Result<codec::InputHead> OnlyInput(const std::string& model, const tensorflow::SignatureDef& signature) {
  if (signature.inputs_size() != 1) {
    return InvalidArgument("a body without JSON needs a model with one input, but model '{}' has {}", model,
                           signature.inputs_size());
  }
  const auto& [name, info] = *signature.inputs().begin();
  const auto shape = tensor::PatternOf(info);
  codec::InputHead head{.model = {}, .name = name, .type = tensor::FromProto(info.dtype())};
  if (!shape || codec::DatatypeName(head.type).empty()) {
    return InvalidArgument("the type or the rank of input '{}' of model '{}' is not known: send its JSON, too", name,
                           model);
  }
  head.shape = *shape;
  return head;
}

ModelMetadataResponse ToMetadata(const ModelView& model) {
  ModelMetadataResponse metadata;
  metadata.set_name(ValidUtf8(model.name));
  metadata.set_platform(kPlatform);
  for (const int64_t version : model.versions) metadata.add_versions(std::to_string(version));
  Fill(Sorted(model.signature.inputs()), metadata.mutable_inputs());
  Fill(Sorted(model.signature.outputs()), metadata.mutable_outputs());
  return metadata;
}

::inference::ModelConfig ToConfig(const ModelView& model) {
  ::inference::ModelConfig config;
  config.set_name(ValidUtf8(model.name));
  config.set_platform(kPlatform);
  config.set_backend("tensorflow");
  config.set_default_model_filename("model.savedmodel");
  auto& versions = *config.mutable_version_policy()->mutable_specific()->mutable_versions();
  versions.Assign(model.versions.begin(), model.versions.end());
  FillConfig(Sorted(model.signature.inputs()), config.mutable_input());
  for (auto& input : *config.mutable_input()) input.set_optional(model.signature.defaults().contains(input.name()));
  FillConfig(Sorted(model.signature.outputs()), config.mutable_output());
  return config;
}

::inference::ServerMetadataResponse ServerMetadata(const std::string& software_version) {
  ::inference::ServerMetadataResponse metadata;
  metadata.set_name(kServerName);
  metadata.set_version(software_version);
  for (const char* extension : kExtensions) metadata.add_extensions(extension);
  return metadata;
}

}  // namespace longshore::frontend::oip
