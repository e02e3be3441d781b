#include "controller/cli/imports/tfserving.h"

#include <algorithm>
#include <map>
#include <set>

#include "common/text_proto/text_proto.h"
#include "controller/api/format.h"
#include "controller/api/parse.h"
#include "tensorflow_serving/config.pb.h"
#include "tensorflow_serving/services.pb.h"

namespace longshore::cli::imports {
namespace {

namespace tfs = tensorflow::serving;

constexpr const char* kFleetDefault = "main";
// The defaults of TensorFlow Serving.
constexpr int64_t kBatchSizeDefault = 1000;
constexpr int64_t kBatchesDefault = 10;

constexpr int64_t kQueueMax = 1'000'000;

// A message and the positions of its fields in the file.
class Place {
 public:
  Place(std::string file, const google::protobuf::Message& message, const Locations* locations)
      : file_(std::move(file)), message_(message), locations_(locations) {}

  // Returns, for example, "models.config:3: model_platform".
  std::string At(const char* name) const {
    const auto* field = message_.GetDescriptor()->FindFieldByName(name);
    const int line = locations_ == nullptr ? -1 : locations_->GetLocation(field, field->is_repeated() ? 0 : -1).line;
    return line < 0 ? fmt::format("{}: {}", file_, name) : fmt::format("{}:{}: {}", file_, line + 1, name);
  }
  std::string Note(const char* name, const std::string& what) const { return At(name) + " " + what; }
  template <typename... Args>
  tl::unexpected<Error> Refuse(const char* name, fmt::format_string<Args...> format, Args&&... args) const {
    return InvalidArgument("{} {}", At(name), fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  const std::string file_;
  const google::protobuf::Message& message_;
  const Locations* locations_;
};

class ModelImport {
 public:
  ModelImport(const tfs::ModelConfig& config, const Place& place) : config_(config), place_(place) {}

  // `name`: the name of the Model object.
  Result<ImportedDocument> Read(const std::string& name, const ImportTarget& target, const Json& batching) {
    RETURN_IF_ERROR(CheckPlatform());
    Json spec = {{"fleet", target.fleet}};
    if (config_.name() != name) spec["servedName"] = config_.name();
    ASSIGN_OR_RETURN(spec["source"]["uri"], SourceUri(name));
    RETURN_IF_ERROR(ReadVersions(spec));
    if (!batching.is_null()) spec["batching"] = batching;
    spec["rollout"] = {{"strategy", "Immediate"}};
    if (config_.has_logging_config())
      Note("logging_config", "is not imported: nodes log requests with their flag --request_log");
    ImportedDocument document = NewDocument(api::kModelKind, name, target.namespace_, std::move(spec));
    document.notes = notes_;
    if (const Status taken = CheckImported(document); !taken) return Prefixed(taken.error(), place_.At("name"));
    return document;
  }

 private:
  void Note(const char* field, const std::string& text) {
    notes_.push_back(place_.Note(field, fmt::format("of model {}: {}", config_.name(), text)));
  }

  Status CheckPlatform() const {
    if (config_.model_type() == tfs::OTHER)
      return place_.Refuse("model_type", "OTHER of model {} is not supported: Longshore serves TensorFlow models",
                           config_.name());
    const bool is_set = !config_.model_platform().empty() || config_.model_type() == tfs::TENSORFLOW;
    if (!is_set)
      return place_.Refuse("model_platform", "of model {} is missing: write model_platform: \"tensorflow\"",
                           config_.name());
    if (config_.model_platform().empty() || config_.model_platform() == "tensorflow") return {};
    return place_.Refuse("model_platform", "\"{}\" of model {} is not supported: use \"tensorflow\"",
                         config_.model_platform(), config_.name());
  }

  Result<std::string> SourceUri(const std::string& name) {
    const std::string& path = config_.base_path();
    if (path.empty()) return place_.Refuse("base_path", "of model {} is missing", config_.name());
    if (path.find("://") != std::string::npos) {
      Note("base_path", CopyNote(path, name));
      return FolderFor(name);
    }
    if (!path.starts_with('/'))
      return place_.Refuse("base_path", "\"{}\" of model {} is not an absolute path", path, config_.name());
    return "file://" + path;
  }

  Status ReadVersions(Json& spec) {
    for (const auto& [label, version] : config_.version_labels()) labels_[label] = version;
    const auto& policy = config_.model_version_policy();
    if (policy.has_specific()) {
      RETURN_IF_ERROR(ReadSpecific(spec));
    } else {
      spec["versionPolicy"] = "Latest";
      if (policy.has_all())
        Note("model_version_policy",
             "all is not supported: only the newest version and the versions of labels are loaded");
      if (policy.latest().num_versions() > 1) {
        Note("model_version_policy",
             fmt::format("latest num_versions {} is not supported: only the newest version and the versions of labels "
                         "are loaded",
                         policy.latest().num_versions()));
      }
    }
    if (!labels_.empty()) spec["labels"] = labels_;
    return {};
  }

  // As in TensorFlow Serving, the highest version answers requests without a version. Labels keep the others loaded.
  Status ReadSpecific(Json& spec) {
    const auto& named = config_.model_version_policy().specific().versions();
    const std::set<int64_t> versions(named.begin(), named.end());
    if (versions.empty())
      return place_.Refuse("model_version_policy", "specific of model {} has no version", config_.name());
    spec["version"] = *versions.rbegin();
    for (const int64_t version : versions) {
      const bool kept = version == *versions.rbegin() ||
                        std::ranges::any_of(labels_, [&](const auto& label) { return label.second == version; });
      if (kept) continue;
      const std::string label = fmt::format("version-{}", version);
      labels_[label] = version;
      Note("model_version_policy",
           fmt::format("specific: version {} stays loaded through the label {}", version, label));
    }
    return {};
  }

  const tfs::ModelConfig& config_;
  const Place& place_;
  std::map<std::string, int64_t> labels_;
  std::vector<std::string> notes_;
};

// The result of the batching file: spec.batching of every Model, and spec.engine of the fleet.
struct Batching {
  Json of_models;
  Json engine = Json::object();
  std::vector<std::string> notes;
};

int64_t RowsOfABatch(const tfs::BatchingParameters& values, const Place& place, Batching& out) {
  const int64_t rows = values.has_max_batch_size() ? values.max_batch_size().value() : kBatchSizeDefault;
  const bool splits = values.enable_large_batch_splitting().value();
  if (values.has_max_execution_batch_size() && !splits)
    out.notes.push_back(place.Note("max_execution_batch_size", "has no effect without enable_large_batch_splitting"));
  if (!splits) return rows;
  const int64_t run = values.has_max_execution_batch_size() ? values.max_execution_batch_size().value() : rows;
  out.notes.push_back(
      place.Note("enable_large_batch_splitting",
                 fmt::format("is not imported: a request of more than {} rows is refused, not split; TensorFlow "
                             "Serving allows {} rows",
                             run, rows)));
  return run;
}

Result<Batching> ReadBatching(const ImportFile& file) {
  tfs::BatchingParameters values;
  Locations locations;
  RETURN_IF_ERROR(ParseTextProto(file.text, file.name, &values, &locations));
  const Place place(file.name, values, &locations);
  Batching out;
  const int64_t rows = RowsOfABatch(values, place, out);
  const int64_t batches = values.has_max_enqueued_batches() ? values.max_enqueued_batches().value() : kBatchesDefault;
  const Duration delay(values.batch_timeout_micros().value());
  out.of_models = {{"maxBatchSize", rows},
                   {"maxDelay", api::FormatDuration(delay)},
                   {"maxQueue", std::min(batches, kQueueMax) * std::min(rows, kQueueMax)}};
  if (out.of_models["maxQueue"] > kQueueMax) out.of_models["maxQueue"] = kQueueMax;
  for (const int64_t size : values.allowed_batch_sizes()) out.of_models["allowedBatchSizes"].push_back(size);
  if (values.has_num_batch_threads()) out.engine["concurrentRuns"] = values.num_batch_threads().value();
  if (values.has_thread_pool_name())
    out.notes.push_back(
        place.Note("thread_pool_name", "is not imported: in TensorFlow Serving it only sets the label of a metric"));
  if (values.pad_variable_length_inputs()) {
    out.notes.push_back(
        place.Note("pad_variable_length_inputs", "is not imported: rows of different sizes run in separate batches"));
  }
  const Json spec = {{"fleet", "f"}, {"source", {{"uri", "file:///m"}}}, {"batching", out.of_models}};
  if (const auto taken = api::ModelSpecFromJson(spec, "m"); !taken)
    return Prefixed(taken.error(), file.name + ": as fields of a Model");
  return out;
}

Status NoteMonitoring(const ImportFile& file, std::vector<std::string>& notes) {
  tfs::MonitoringConfig config;
  Locations locations;
  RETURN_IF_ERROR(ParseTextProto(file.text, file.name, &config, &locations));
  const Place place(file.name, config, &locations);
  if (config.has_prometheus_config()) {
    notes.push_back(place.Note(
        "prometheus_config",
        fmt::format("is not imported: every node serves its metrics at /metrics on its administration port 8502{}",
                    config.prometheus_config().path().empty() ? "" : ", not at " + config.prometheus_config().path())));
  }
  return {};
}

// Returns a valid object name that no object of the same kind has yet.
std::string FreeName(const std::string& wanted, std::set<std::string>& taken) {
  std::string name = ObjectName(wanted, kModelNameMax);
  for (int i = 2; !taken.insert(name).second; ++i) {
    const std::string more = fmt::format("-{}", i);
    name = ObjectName(wanted, kModelNameMax - more.size()) + more;
  }
  return name;
}

class ModelsImport {
 public:
  ModelsImport(const ImportTarget& target, const Json& batching) : target_(target), batching_(batching) {}

  Status Read(const ImportFile& file, Imported& out) {
    tfs::ModelServerConfig config;
    Locations locations;
    RETURN_IF_ERROR(ParseTextProto(file.text, file.name, &config, &locations));
    if (config.has_custom_model_config())
      return Place(file.name, config, &locations).Refuse("custom_model_config", "is not supported");
    const auto* list = config.GetDescriptor()->FindFieldByName("model_config_list");
    const Locations* of_list = locations.GetTreeForNested(list, -1);
    const auto* field = tfs::ModelConfigList::descriptor()->FindFieldByName("config");
    for (int i = 0; i < config.model_config_list().config_size(); ++i) {
      const tfs::ModelConfig& model = config.model_config_list().config(i);
      const Place place(file.name, model, of_list == nullptr ? nullptr : of_list->GetTreeForNested(field, i));
      if (model.name().empty())
        return place.Refuse("base_path", "\"{}\" belongs to a model without a name", model.base_path());
      if (!served_.insert(model.name()).second)
        return place.Refuse("name", "\"{}\" is defined twice: the names of a fleet's models must be unique",
                            model.name());
      ASSIGN_OR_RETURN(out.emplace_back(),
                       ModelImport(model, place).Read(FreeName(model.name(), taken_), target_, batching_));
    }
    return {};
  }

 private:
  const ImportTarget& target_;
  const Json& batching_;
  std::set<std::string> served_;
  std::set<std::string> taken_;
};

}  // namespace

Result<Imported> ImportTfServing(const TfServingFiles& files, const ImportTarget& wanted) {
  ImportTarget target = wanted;
  if (target.fleet.empty()) target.fleet = kFleetDefault;
  Batching batching;
  if (files.batching) {
    ASSIGN_OR_RETURN(batching, ReadBatching(*files.batching));
  }
  Json spec = {{"replicas", {{"min", 1}}}};
  if (!batching.engine.empty()) spec["engine"] = batching.engine;
  Imported out = {NewDocument(api::kServingFleetKind, target.fleet, target.namespace_, std::move(spec))};
  out[0].notes = batching.notes;
  if (files.monitoring) RETURN_IF_ERROR(NoteMonitoring(*files.monitoring, out[0].notes));
  if (const Status taken = CheckImported(out[0]); !taken) return tl::make_unexpected(taken.error());
  ModelsImport models(target, batching.of_models);
  for (const ImportFile& file : files.models) RETURN_IF_ERROR(models.Read(file, out));
  if (out.size() == 1) return InvalidArgument("{}: it contains no model", files.models.front().name);
  return out;
}

}  // namespace longshore::cli::imports
