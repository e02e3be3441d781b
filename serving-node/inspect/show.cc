#include "serving-node/inspect/show.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "serving-node/frontend/json/response.h"
#include "serving-node/inspect/text.h"
#include "serving-node/tensor/proto.h"

namespace longshore::inspect {
namespace {

// Returns the default value in the format of REST answers; null if REST answers cannot contain its type.
Json DefaultToJson(const tensor::Tensor& value) {
  const auto text = frontend::json::PredictionsToJson({{"value", value}}, frontend::json::JsonForm::kColumnar);
  const auto json = text ? ParseJson(*text) : tl::make_unexpected(text.error());
  return json ? json->at("outputs") : Json();
}

size_t NameWidth(const SignatureSummary& signature) {
  size_t width = 0;
  for (const auto& [name, _] : signature.inputs) width = std::max(width, name.size());
  for (const auto& [name, _] : signature.outputs) width = std::max(width, name.size());
  return width;
}

std::string LineOf(std::string_view kind, const std::string& name, const TensorSummary& tensor, size_t width) {
  std::string line =
      fmt::format("    {:<6}  {:<{}}  {:<9}  {:<16}  {}", kind, name, width, DTypeName(tensor.type),
                  tensor::ToString(tensor.pattern), tensor.tensor.empty() ? "(sparse or composite)" : tensor.tensor);
  if (tensor.default_value) line += fmt::format("  default {}", DefaultToJson(*tensor.default_value).dump());
  return line + "\n";
}

std::string SignatureText(const std::string& name, const SignatureSummary& signature) {
  std::string text = fmt::format("  signature {}  {}\n", name, signature.method);
  const size_t width = NameWidth(signature);
  for (const auto& [input, tensor] : signature.inputs) text += LineOf("input", input, tensor, width);
  for (const auto& [output, tensor] : signature.outputs) text += LineOf("output", output, tensor, width);
  return text;
}

std::string GraphText(const GraphSummary& graph) {
  const std::string writer =
      graph.tensorflow_version.empty() ? "" : fmt::format(", written by TensorFlow {}", graph.tensorflow_version);
  std::string text = fmt::format("tags {}{}\n", fmt::join(graph.tags, ","), writer);
  text += fmt::format("  graph      {}, {} with {}\n", CountText(graph.nodes, "node"),
                      CountText(graph.functions, "function"), CountText(graph.function_nodes, "node"));
  if (!graph.assets.empty()) text += fmt::format("  assets     {}\n", fmt::join(graph.assets, ", "));
  for (const auto& [name, signature] : graph.signatures) {
    if (!engine::IsInternal(name)) text += SignatureText(name, signature);
  }
  return text;
}

Json TensorToJson(const TensorSummary& tensor) {
  Json json{{"dtype", DTypeName(tensor.type)}, {"shape", nullptr}, {"tensor", tensor.tensor}};
  if (tensor.pattern) json["shape"] = *tensor.pattern;
  if (tensor.default_value) json["default"] = DefaultToJson(*tensor.default_value);
  return json;
}

Json TensorsToJson(const std::map<std::string, TensorSummary>& tensors) {
  Json json = Json::object();
  for (const auto& [name, tensor] : tensors) json[name] = TensorToJson(tensor);
  return json;
}

Json GraphToJson(const GraphSummary& graph) {
  Json signatures = Json::object();
  for (const auto& [name, signature] : graph.signatures) {
    signatures[name] = {{"method", signature.method},
                        {"inputs", TensorsToJson(signature.inputs)},
                        {"outputs", TensorsToJson(signature.outputs)}};
  }
  return {{"tags", graph.tags},           {"tensorflow_version", graph.tensorflow_version}, {"nodes", graph.nodes},
          {"functions", graph.functions}, {"function_nodes", graph.function_nodes},         {"assets", graph.assets},
          {"signatures", signatures}};
}

// 64-bit numbers are strings, because many JSON parsers read numbers as floats.
Json FingerprintToJson(const tensorflow::FingerprintDef& fingerprint) {
  return {{"uuid", fingerprint.uuid()},
          {"saved_model_checksum", std::to_string(fingerprint.saved_model_checksum())},
          {"graph_def_program_hash", std::to_string(fingerprint.graph_def_program_hash())},
          {"signature_def_hash", std::to_string(fingerprint.signature_def_hash())},
          {"saved_object_graph_hash", std::to_string(fingerprint.saved_object_graph_hash())},
          {"checkpoint_hash", std::to_string(fingerprint.checkpoint_hash())}};
}

}  // namespace

std::string ToText(const Summary& summary) {
  std::string text = fmt::format("{}\n  variables  {}, {}\n", summary.dir.string(), summary.variables,
                                 BytesText(summary.variables_bytes));
  if (summary.fingerprint) {
    text +=
        fmt::format("  fingerprint  {} {}\n", summary.fingerprint->saved_model_checksum(), summary.fingerprint->uuid());
  }
  for (const auto& graph : summary.graphs) text += GraphText(graph);
  return text;
}

Json ToJson(const Summary& summary) {
  Json json{{"dir", summary.dir.string()},
            {"variables", {{"count", summary.variables}, {"bytes", summary.variables_bytes}}},
            {"fingerprint", nullptr},
            {"graphs", Json::array()}};
  if (summary.fingerprint) json["fingerprint"] = FingerprintToJson(*summary.fingerprint);
  for (const auto& graph : summary.graphs) json["graphs"].push_back(GraphToJson(graph));
  return json;
}

}  // namespace longshore::inspect
