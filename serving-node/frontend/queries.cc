#include "serving-node/frontend/queries.h"

#include "serving-node/inference/response.h"

namespace longshore::frontend {
namespace {

using tensorflow::serving::GetModelMetadataRequest;
using tensorflow::serving::GetModelMetadataResponse;
using tensorflow::serving::GetModelStatusResponse;
using tensorflow::serving::ModelSpec;
using tensorflow::serving::ModelVersionStatus;

constexpr const char* kSignatures = "signature_def";

ModelVersionStatus::State WireState(models::State state) {
  switch (state) {
    case models::State::kStart: return ModelVersionStatus::START;
    case models::State::kRehearsal:
    case models::State::kLoading:
    case models::State::kWarming: return ModelVersionStatus::LOADING;
    case models::State::kAvailable: return ModelVersionStatus::AVAILABLE;
    case models::State::kUnloading: return ModelVersionStatus::UNLOADING;
    case models::State::kEnd:
    case models::State::kFailed: return ModelVersionStatus::END;
  }
  return ModelVersionStatus::UNKNOWN;
}

void Fill(const models::VersionStatus& from, ModelVersionStatus* to) {
  to->set_version(from.version);
  to->set_state(WireState(from.state));
  to->mutable_status()->set_error_code(static_cast<tensorflow::error::Code>(from.error.code));
  if (from.error.code != Code::kOk) to->mutable_status()->set_error_message(from.error.message);
}

Result<GetModelStatusResponse> ToStatus(const ModelSpec& spec, const std::vector<models::VersionStatus>& versions) {
  GetModelStatusResponse response;
  const bool all = !spec.has_version();
  for (const auto& each : versions) {
    if (all || each.version == spec.version().value()) Fill(each, response.add_model_version_status());
  }
  if (response.model_version_status_size() > 0) return response;
  if (all) return NotFound("Could not find any versions of model {}", spec.name());
  return NotFound("Could not find version {} of model {}", spec.version().value(), spec.name());
}

Status CheckFields(const GetModelMetadataRequest& request) {
  if (!request.has_model_spec()) return InvalidArgument("Missing ModelSpec");
  if (request.metadata_field_size() == 0) {
    return InvalidArgument("GetModelMetadataRequest must specify at least one metadata_field");
  }
  for (const std::string& field : request.metadata_field()) {
    if (field != kSignatures) return InvalidArgument("Metadata field {} is not supported", field);
  }
  return {};
}

Result<GetModelMetadataResponse> ToResponse(const std::string& model, const Result<Described>& found) {
  if (!found) return tl::make_unexpected(found.error());
  GetModelMetadataResponse response;
  response.mutable_model_spec()->set_name(model);
  response.mutable_model_spec()->mutable_version()->set_value(found->version);
  (*response.mutable_metadata())[kSignatures].PackFrom(ToMap(*found->signatures));
  return response;
}

}  // namespace

Result<engine::TensorMap> OutputsOf(routing::PredictAnswer answer) {
  if (answer.serialized.empty()) return std::move(answer.outputs);
  return inference::OutputsOf(answer.serialized);
}

void DescribeAnywhere(const Catalog& catalog, const ModelSpec& spec, std::chrono::steady_clock::time_point deadline,
                      const DescribeDone& done) {
  const auto here = catalog.Describe(spec);
  if (here) return done(here);
  catalog.DescribeElsewhere(spec, deadline, done);
}

void GetStatus(const Catalog& catalog, const ModelSpec& spec, std::chrono::steady_clock::time_point deadline,
               const StatusDone& done) {
  if (spec.name().empty()) return done(InvalidArgument("ModelSpec has no name specified."));
  const auto versions = catalog.Versions(spec.name());
  if (versions) return done(ToStatus(spec, *versions));
  catalog.StatusElsewhere(spec, deadline, [spec, done](Result<GetModelStatusResponse> elsewhere) {
    const bool found = elsewhere || elsewhere.error().code != Code::kNotFound;
    done(found ? std::move(elsewhere) : ToStatus(spec, {}));
  });
}

void GetMetadata(const Catalog& catalog, const GetModelMetadataRequest& request,
                 std::chrono::steady_clock::time_point deadline, const MetadataDone& done) {
  if (auto fields = CheckFields(request); !fields) return done(tl::make_unexpected(fields.error()));
  DescribeAnywhere(
      catalog, request.model_spec(), deadline,
      [done, model = request.model_spec().name()](const Result<Described>& found) { done(ToResponse(model, found)); });
}

tensorflow::serving::SignatureDefMap ToMap(const Signatures& signatures) {
  tensorflow::serving::SignatureDefMap map;
  *map.mutable_signature_def() = signatures;
  for (auto& [name, signature] : *map.mutable_signature_def()) signature.clear_defaults();
  return map;
}

}  // namespace longshore::frontend
