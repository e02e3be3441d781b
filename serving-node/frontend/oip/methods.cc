#include "serving-node/frontend/oip/methods.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <memory>
#include <new>
#include <utility>

#include "common/base/text.h"
#include "serving-node/frontend/oip/metadata.h"
#include "serving-node/frontend/oip/settings.h"
#include "serving-node/frontend/oip/statistics.h"
#include "serving-node/frontend/queries.h"
#include "serving-node/frontend/refusals.h"
#include "serving-node/inference/inference.h"
#include "serving-node/routing/priority.h"

namespace longshore::frontend::oip {
namespace {

using codec::InferRequest;
using tensorflow::serving::ModelSpec;

// Returns the spec for a model; a version that has other characters than digits is a label. InvalidArgument for a
// number that is too large.
Result<ModelSpec> SpecFor(const ModelName& model) {
  ModelSpec spec;
  spec.set_name(model.name);
  if (model.version.empty()) return spec;
  const bool is_number = std::ranges::all_of(model.version, [](unsigned char c) { return std::isdigit(c) != 0; });
  if (!is_number) {
    spec.set_version_label(model.version);
    return spec;
  }
  int64_t version = 0;
  const char* end = model.version.data() + model.version.size();
  if (std::from_chars(model.version.data(), end, version).ec != std::errc{}) {
    return InvalidArgument("invalid model version specified '{}'", model.version.substr(0, 64));
  }
  spec.mutable_version()->set_value(version);
  return spec;
}

Error UnknownModel(const ModelName& model) {
  if (model.version.empty())
    return {Code::kNotFound, fmt::format("Request for unknown model: '{}' is not found", model.name)};
  return {Code::kNotFound,
          fmt::format("Request for unknown model: '{}' version {} is not found", model.name, model.version)};
}

// Returns the error as this protocol words it.
Error Worded(const Error& error, const ModelName& model) {
  return error.code == Code::kNotFound ? UnknownModel(model) : error;
}

// Returns the node's priority, 0 to 9 with 9 the highest, for one of this protocol: 1 is the highest, and 0 the
// default.
int PriorityFor(uint64_t priority) {
  constexpr uint64_t kLevels = 9;
  return priority >= 1 && priority <= kLevels ? static_cast<int>(kLevels + 1 - priority) : 0;
}

void SetPriority(uint64_t priority, routing::Headers* headers) {
  std::erase_if(*headers, [](const auto& header) { return header.first == routing::kPriorityHeader; });
  headers->emplace_back(routing::kPriorityHeader, std::to_string(PriorityFor(priority)));
}

void ApplyTerms(const InferRequest& request, CallInfo* info) {
  if (request.priority.value_or(0) > 0) SetPriority(*request.priority, &info->headers);
  if (request.timeout.count() == 0) return;
  info->deadline = std::min(info->deadline, std::chrono::steady_clock::now() + request.timeout);
}

// The call of a request. Moves the inputs out of the request.
routing::PredictCall CallOf(ModelSpec spec, InferRequest* request, CallInfo info) {
  spec.set_signature_name(request->signature);
  std::vector<std::string> outputs;
  for (const auto& output : request->outputs) outputs.push_back(output.name);
  return ToCall(std::move(info), {std::move(spec), std::exchange(request->inputs, {}), std::move(outputs)});
}

// Runs on a thread of the engine, which catches no exceptions.
Result<Answered> ToAnswered(const InferRequest& request, Result<routing::PredictAnswer> answer) try {
  if (!answer) return tl::make_unexpected(Worded(answer.error(), {request.model, request.version}));
  ModelSpec spec = answer->model_spec;
  ASSIGN_OR_RETURN(engine::TensorMap outputs, OutputsOf(std::move(*answer)));
  ASSIGN_OR_RETURN(auto converted, codec::AnswerTo(request, spec.version().value(), std::move(outputs)));
  return Answered{std::move(converted), std::move(spec)};
} catch (const std::bad_alloc&) {
  return OutOfMemory();
}

const char* StateOf(models::State state) {
  switch (state) {
    case models::State::kAvailable: return "READY";
    case models::State::kUnloading: return "UNLOADING";
    case models::State::kStart:
    case models::State::kRehearsal:
    case models::State::kLoading:
    case models::State::kWarming: return "LOADING";
    case models::State::kEnd:
    case models::State::kFailed: return "UNAVAILABLE";
  }
  return "UNKNOWN";
}

using ModelIndex = ::inference::RepositoryIndexResponse::ModelIndex;

ModelIndex IndexOf(const std::string& model, const models::VersionStatus& status) {
  ModelIndex index;
  index.set_name(ValidUtf8(model));
  index.set_version(std::to_string(status.version));
  index.set_state(StateOf(status.state));
  if (status.state == models::State::kEnd) index.set_reason("unloaded");
  if (status.error.code != Code::kOk) index.set_reason(CutText(status.error.message, kErrorBytesMax));
  return index;
}

Status CheckRepository(const std::string& repository) {
  if (repository.empty()) return {};
  return longshore::Unimplemented("'repository_name' specification is not supported");
}

}  // namespace

::inference::ServerMetadataResponse Methods::ServerMetadata() const {
  return oip::ServerMetadata(deps_.software_version);
}

void Methods::Infer(InferRequest request, CallInfo info, const Done<Answered>& done) const {
  // The predictor may throw before it takes the call, and after it.
  const auto is_done = std::make_shared<std::atomic<bool>>(false);
  const Done<Answered> once = [is_done, done](Result<Answered> answer) {
    if (!is_done->exchange(true)) done(std::move(answer));
  };
  try {
    Run(std::move(request), std::move(info), once);
  } catch (const std::bad_alloc&) {
    once(OutOfMemory());
  }
}

void Methods::Run(InferRequest request, CallInfo info, Done<Answered> done) const {
  auto spec = SpecFor({request.model, request.version});
  if (!spec) return done(tl::make_unexpected(spec.error()));
  ApplyTerms(request, &info);
  routing::PredictCall call = CallOf(std::move(*spec), &request, std::move(info));
  deps_.predictor.Predict(
      std::move(call), [request = std::move(request), done = std::move(done)](Result<routing::PredictAnswer> answer) {
        done(ToAnswered(request, std::move(answer)));
      });
}

void Methods::ModelReady(const ModelName& model, TimePoint deadline, const Done<bool>& done) const {
  const auto spec = SpecFor(model);
  if (!spec) return done(tl::make_unexpected(spec.error()));
  DescribeAnywhere(deps_.catalog, *spec, deadline, [done](const Result<Described>& found) { done(found.has_value()); });
}

std::vector<int64_t> Methods::ReadyVersions(const std::string& model) const {
  std::vector<int64_t> ready;
  const auto all = deps_.catalog.Versions(model);
  if (!all) return ready;
  for (const auto& status : *all) {
    if (status.state == models::State::kAvailable) ready.push_back(status.version);
  }
  std::ranges::sort(ready);
  return ready;
}

void Methods::OnlyInput(const ModelName& model, TimePoint deadline, const Done<codec::InputHead>& done) const {
  const auto spec = SpecFor(model);
  if (!spec) return done(tl::make_unexpected(spec.error()));
  DescribeAnywhere(deps_.catalog, *spec, deadline, [model, done](const Result<Described>& found) {
    if (!found) return done(tl::make_unexpected(Worded(found.error(), model)));
    done(DefaultSignature(*found->signatures).and_then([&model](const tensorflow::SignatureDef* signature) {
      return oip::OnlyInput(model.name, *signature);
    }));
  });
}

template <typename T>
void Methods::Describe(const ModelName& model, TimePoint deadline, T (*convert)(const ModelView&),
                       const Done<T>& done) const {
  const auto spec = SpecFor(model);
  if (!spec) return done(tl::make_unexpected(spec.error()));
  DescribeAnywhere(deps_.catalog, *spec, deadline, [this, model, convert, done](const Result<Described>& found) {
    if (!found) return done(tl::make_unexpected(Worded(found.error(), model)));
    const auto signature = DefaultSignature(*found->signatures);
    if (!signature) return done(tl::make_unexpected(signature.error()));
    std::vector<int64_t> versions = ReadyVersions(model.name);
    if (versions.empty() || !model.version.empty()) versions = {found->version};
    done(convert({model.name, std::move(versions), **signature}));
  });
}

void Methods::ModelMetadata(const ModelName& model, TimePoint deadline,
                            const Done<::inference::ModelMetadataResponse>& done) const {
  Describe<::inference::ModelMetadataResponse>(model, deadline, ToMetadata, done);
}

void Methods::ModelConfig(const ModelName& model, TimePoint deadline,
                          const Done<::inference::ModelConfig>& done) const {
  Describe<::inference::ModelConfig>(model, deadline, ToConfig, done);
}

Result<std::optional<int64_t>> Methods::VersionOf(const ModelName& model) const {
  if (model.version.empty()) return std::optional<int64_t>();
  ASSIGN_OR_RETURN(const ModelSpec spec, SpecFor(model));
  if (spec.has_version()) return std::optional(spec.version().value());
  const auto described = deps_.catalog.Describe(spec);
  if (!described) return tl::make_unexpected(Worded(described.error(), model));
  return std::optional(described->version);
}

Result<::inference::ModelStatisticsResponse> Methods::Statistics(const ModelName& model) const {
  ::inference::ModelStatisticsResponse response;
  ASSIGN_OR_RETURN(const std::optional<int64_t> only, VersionOf(model));
  const std::vector<std::string> names = model.name.empty() ? deps_.repository.Names() : std::vector{model.name};
  for (const std::string& name : names) {
    for (const int64_t version : ReadyVersions(name)) {
      if (only && *only != version) continue;
      *response.add_model_stats() = ToProto(name, version, deps_.statistics.Of(name, version));
    }
  }
  if (response.model_stats().empty() && !model.name.empty()) return tl::make_unexpected(UnknownModel(model));
  return response;
}

Result<::inference::RepositoryIndexResponse> Methods::Index(const ::inference::RepositoryIndexRequest& request) const {
  RETURN_IF_ERROR(CheckRepository(request.repository_name()));
  ::inference::RepositoryIndexResponse response;
  for (const std::string& name : deps_.repository.Names()) {
    auto versions = deps_.catalog.Versions(name).value_or(std::vector<models::VersionStatus>());
    std::ranges::reverse(versions);  // The lowest first.
    if (versions.empty() && !request.ready()) response.add_models()->set_name(ValidUtf8(name));
    for (const auto& status : versions) {
      if (request.ready() && status.state != models::State::kAvailable) continue;
      *response.add_models() = IndexOf(name, status);
    }
  }
  return response;
}

void Methods::Load(const ::inference::RepositoryModelLoadRequest& request, TimePoint deadline,
                   Repository::Done done) const {
  if (const Status checked = CheckRepository(request.repository_name()); !checked) return done(checked);
  for (const auto& [name, unused] : request.parameters()) {
    return done(
        InvalidArgument("load parameter '{}' is not supported: the node's configuration says how a model is "
                        "loaded, and from which files",
                        name));
  }
  deps_.repository.Load(request.model_name(), deadline, std::move(done));
}

void Methods::Unload(const ::inference::RepositoryModelUnloadRequest& request, Repository::Done done) const {
  if (const Status checked = CheckRepository(request.repository_name()); !checked) return done(checked);
  for (const auto& [name, unused] : request.parameters()) {
    if (name == "unload_dependents") continue;  // No model depends on another one.
    return done(InvalidArgument("unload parameter '{}' is not supported", name));
  }
  deps_.repository.Unload(request.model_name(), std::move(done));
}

Result<::inference::LogSettingsResponse> Methods::LogSettings(const ::inference::LogSettingsRequest& request) const {
  return oip::LogSettings(request, deps_.may_change_log);
}

Error Methods::NoRegions() {
  return {Code::kUnimplemented,
          "shared memory is not supported, because this server maps no memory of its clients: send and receive tensors "
          "in the messages"};
}

}  // namespace longshore::frontend::oip
