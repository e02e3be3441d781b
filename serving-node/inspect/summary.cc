#include "serving-node/inspect/summary.h"

#include <algorithm>

#include "common/os/file.h"
#include "serving-node/saved_model/bundle.h"
#include "serving-node/saved_model/saved_model.h"
#include "serving-node/tensor/info.h"

namespace longshore::inspect {
namespace {

// Every bundle of TensorFlow 2 has this entry, which is not a variable.
constexpr char kObjectGraph[] = "_CHECKPOINTABLE_OBJECT_GRAPH";
constexpr size_t kFingerprintBytesMax = size_t{1} << 20;

Result<TensorSummary> SummarizeTensor(const std::string& name, const tensorflow::TensorInfo& info,
                                      const tensorflow::SignatureDef& signature) {
  TensorSummary summary{.tensor = info.name(),
                        .type = tensor::FromProto(info.dtype()),
                        .pattern = tensor::PatternOf(info),
                        .default_value = std::nullopt};
  const auto given = signature.defaults().find(name);
  if (given == signature.defaults().end()) return summary;
  ASSIGN_OR_RETURN(summary.default_value, tensor::FromProto(given->second));
  return summary;
}

Result<SignatureSummary> SummarizeSignature(const tensorflow::SignatureDef& signature) {
  SignatureSummary summary{.inputs = {}, .outputs = {}, .method = signature.method_name()};
  for (const auto& [name, info] : signature.inputs()) {
    ASSIGN_OR_RETURN(summary.inputs[name], SummarizeTensor(name, info, signature));
  }
  for (const auto& [name, info] : signature.outputs()) {
    ASSIGN_OR_RETURN(summary.outputs[name], SummarizeTensor(name, info, {}));
  }
  return summary;
}

Result<GraphSummary> SummarizeGraph(const tensorflow::MetaGraphDef& meta) {
  GraphSummary summary;
  summary.tags.assign(meta.meta_info_def().tags().begin(), meta.meta_info_def().tags().end());
  summary.tensorflow_version = meta.meta_info_def().tensorflow_version();
  summary.nodes = meta.graph_def().node_size();
  summary.functions = meta.graph_def().library().function_size();
  for (const auto& function : meta.graph_def().library().function()) summary.function_nodes += function.node_def_size();
  for (const auto& asset : meta.asset_file_def()) summary.assets.push_back(asset.filename());
  for (const auto& [name, signature] : meta.signature_def()) {
    auto summarized = SummarizeSignature(signature);
    if (!summarized) return Prefixed(summarized.error(), fmt::format("signature \"{}\"", name));
    summary.signatures[name] = std::move(*summarized);
  }
  return summary;
}

// TensorFlow 1 writes no variables folder for a model without variables.
Status CountVariables(const Path& version_dir, Summary* summary) {
  const Path prefix = saved_model::VariablesPrefix(version_dir);
  std::error_code error;
  if (!std::filesystem::exists(prefix.parent_path(), error)) return {};
  ASSIGN_OR_RETURN(const auto bundle, saved_model::Bundle::Open(prefix));
  for (const auto& [name, entry] : bundle.entries()) {
    if (name == kObjectGraph) continue;
    if (!saved_model::IsSliceKey(name)) ++summary->variables;
    summary->variables_bytes += entry.size();
  }
  return {};
}

Result<std::optional<tensorflow::FingerprintDef>> ReadFingerprint(const Path& version_dir) {
  const Path file = version_dir / "fingerprint.pb";
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return std::nullopt;
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(file, kFingerprintBytesMax));
  tensorflow::FingerprintDef fingerprint;
  if (!fingerprint.ParseFromString(bytes)) return DataLoss("{} is damaged", file.string());
  return fingerprint;
}

}  // namespace

Result<Summary> Summarize(const Path& version_dir, const std::vector<std::string>& tags) {
  Summary summary;
  summary.dir = version_dir;
  if (tags.empty()) {
    ASSIGN_OR_RETURN(const auto model, saved_model::ReadSavedModel(version_dir));
    for (const auto& meta : model.meta_graphs()) {
      ASSIGN_OR_RETURN(summary.graphs.emplace_back(), SummarizeGraph(meta));
    }
  } else {
    ASSIGN_OR_RETURN(const auto meta, saved_model::ReadMetaGraph(version_dir, tags));
    ASSIGN_OR_RETURN(summary.graphs.emplace_back(), SummarizeGraph(meta));
  }
  RETURN_IF_ERROR(CountVariables(version_dir, &summary));
  ASSIGN_OR_RETURN(summary.fingerprint, ReadFingerprint(version_dir));
  return summary;
}

}  // namespace longshore::inspect
