#include "serving-node/frontend/json_request.h"

#include <fmt/ranges.h>

#include <map>
#include <set>

#include "serving-node/frontend/json_document.h"
#include "serving-node/frontend/json_tensor.h"

namespace longshore::frontend {
namespace {

using rapidjson::Value;
using tensorflow::serving::PredictRequest;
using InputInfos = google::protobuf::Map<std::string, tensorflow::TensorInfo>;
using Inputs = google::protobuf::Map<std::string, tensorflow::TensorProto>;

TensorBuilder BuilderFor(const tensorflow::TensorInfo& info) {
  return TensorBuilder(static_cast<tensor::DType>(info.dtype()));
}

// The tensors under construction, by the name of the input.
using Builders = std::map<std::string, TensorBuilder>;

Status AppendItem(const Value& item, const std::string& name, const InputInfos& infos, Builders* builders) {
  const auto info = infos.find(name);
  if (info == infos.end()) return InvalidArgument("JSON object: does not have named input: {}", name);
  return builders->try_emplace(name, BuilderFor(info->second)).first->second.Append(item);
}

Status AppendObject(const Value& object, int index, const InputInfos& infos, Builders* builders) {
  std::set<std::string> keys;
  for (const auto& member : object.GetObject()) {
    const std::string name(member.name.GetString(), member.name.GetStringLength());
    const bool repeated = !keys.insert(name).second;
    const Status appended = repeated ? Status(InvalidArgument("JSON object: names an input twice"))
                                     : AppendItem(member.value, name, infos, builders);
    if (!appended) {
      return Fail(appended.error().code, "Failed to process element: {} key: {} of 'instances' list. Error: {}", index,
                  name, ToString(appended.error()));
    }
  }
  std::set<std::string> names;
  for (const auto& [name, info] : infos) names.insert(name);
  if (keys == names) return {};
  return InvalidArgument("Failed to process element: {} of 'instances' list. JSON object: {} keys must be equal to: {}",
                         index, ForMessage(object), fmt::join(names, ","));
}

Status AppendPlain(const Value& element, int index, const InputInfos& infos, Builders* builders) {
  const Status appended = AppendItem(element, infos.begin()->first, infos, builders);
  if (appended) return {};
  return Fail(appended.error().code, "Failed to process element: {} of 'instances' list. Error: {}", index,
              ToString(appended.error()));
}

bool IsRowObject(const Value& value) { return value.IsObject() && !IsBase64Object(value); }

Status ReadRows(const Value& document, const Value& rows, const InputInfos& infos, Inputs* inputs) {
  if (!rows.IsArray()) {
    return InvalidArgument("JSON Value: {} Excepting 'instances' to be an list/array", ForMessage(document));
  }
  if (rows.Empty()) return InvalidArgument("JSON Value: {} No values in 'instances' array", ForMessage(document));
  if (!rows[0].IsObject() && infos.size() > 1) {
    return InvalidArgument(
        "instances is a plain list, but expecting list of objects as multiple input tensors required as per "
        "tensorinfo_map");
  }
  const bool objects = IsRowObject(rows[0]);
  Builders builders;
  int index = 0;
  for (const Value& row : rows.GetArray()) {
    if (objects != IsRowObject(row)) {
      return InvalidArgument("Expecting {} but got {} at item {} of input list", objects ? "object" : "value/list",
                             objects ? "list" : "object", index);
    }
    RETURN_IF_ERROR(objects ? AppendObject(row, index, infos, &builders) : AppendPlain(row, index, infos, &builders));
    ++index;
  }
  for (auto& [name, builder] : builders) builder.MoveRowsTo(&(*inputs)[name]);
  return {};
}

Status ReadColumn(const Value& value, const std::string& name, const tensorflow::TensorInfo& info, Inputs* inputs) {
  TensorBuilder builder = BuilderFor(info);
  RETURN_IF_ERROR(builder.Append(value));
  builder.MoveValueTo(&(*inputs)[name]);
  return {};
}

Status ReadColumns(const Value& columns, const InputInfos& infos, Inputs* inputs) {
  if (!IsRowObject(columns)) {
    if (infos.size() > 1) {
      return InvalidArgument(
          "inputs is a plain value/list, but expecting an object as multiple input tensors required as per "
          "tensorinfo_map");
    }
    return ReadColumn(columns, infos.begin()->first, infos.begin()->second, inputs);
  }
  for (const auto& [name, info] : infos) {
    const auto found = columns.FindMember(name);
    if (found == columns.MemberEnd()) {
      return InvalidArgument("Missing named input: {} in 'inputs' object.", name);
    }
    RETURN_IF_ERROR(ReadColumn(found->value, name, info, inputs));
  }
  return {};
}

}  // namespace

Result<JsonForm> PredictRequestFromJson(std::string_view json, const FindSignature& find_signature,
                                        PredictRequest* request) {
  rapidjson::Document document;
  RETURN_IF_ERROR(ParseBody(json, &document));
  RETURN_IF_ERROR(ReadSignatureName(document, request->mutable_model_spec()));
  const std::string& named = request->model_spec().signature_name();
  ASSIGN_OR_RETURN(const tensorflow::SignatureDef* signature,
                   find_signature(named.empty() ? "serving_default" : named));
  const InputInfos& infos = signature->inputs();
  if (infos.empty()) {
    return InvalidArgument("Failed to get input map for signature: {}", named.empty() ? "DEFAULT" : named);
  }
  const auto rows = document.FindMember("instances");
  const auto columns = document.FindMember("inputs");
  if (rows != document.MemberEnd() && columns != document.MemberEnd()) {
    return InvalidArgument(
        "JSON Value: {} Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist ",
        ForMessage(document));
  }
  if (rows != document.MemberEnd()) {
    RETURN_IF_ERROR(ReadRows(document, rows->value, infos, request->mutable_inputs()));
    return JsonForm::kRow;
  }
  if (columns == document.MemberEnd()) return InvalidArgument("Missing 'inputs' or 'instances' key");
  RETURN_IF_ERROR(ReadColumns(columns->value, infos, request->mutable_inputs()));
  return JsonForm::kColumnar;
}

}  // namespace longshore::frontend
