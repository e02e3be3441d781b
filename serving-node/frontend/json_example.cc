#include "serving-node/frontend/json_example.h"

#include "serving-node/frontend/base64.h"
#include "serving-node/frontend/json_document.h"
#include "serving-node/frontend/json_tensor.h"
#include "serving-node/frontend/json_text.h"

namespace longshore::frontend {
namespace {

using rapidjson::Value;
using tensorflow::Feature;

enum class Kind { kBytes, kInteger, kFloat, kNone };

Kind KindOf(const Value& value) {
  if (value.IsString() || IsBase64Object(value)) return Kind::kBytes;
  if (value.IsInt64() || value.IsBool()) return Kind::kInteger;
  return value.IsNumber() ? Kind::kFloat : Kind::kNone;
}

Status AddBytes(const Value& value, tensorflow::BytesList* list) {
  if (value.IsString()) {
    list->add_value(value.GetString(), value.GetStringLength());
    return {};
  }
  const Value& text = value.MemberBegin()->value;
  auto bytes = FromBase64({text.GetString(), text.GetStringLength()});
  if (!bytes) return InvalidArgument("Unable to base64 decode");
  list->add_value(std::move(*bytes));
  return {};
}

Status AddValue(const Value& value, Kind kind, Feature* feature) {
  switch (kind) {
    case Kind::kBytes: return AddBytes(value, feature->mutable_bytes_list());
    case Kind::kInteger:
      feature->mutable_int64_list()->add_value(value.IsBool() ? value.GetBool() : value.GetInt64());
      return {};
    default:
      feature->mutable_float_list()->add_value(value.IsBool() ? value.GetBool()
                                                              : static_cast<float>(value.GetDouble()));
      return {};
  }
}

// What all of them can be, or nothing.
Result<Kind> CommonKind(const Value& list) {
  Kind common = Kind::kNone;
  for (const Value& value : list.GetArray()) {
    const Kind kind = KindOf(value);
    if (kind == Kind::kNone) {
      return InvalidArgument("JSON Value: {} is neither a number, a string nor bytes", ForMessage(value));
    }
    const bool numbers = common != Kind::kBytes && kind != Kind::kBytes;
    if (common != Kind::kNone && common != kind && !numbers) {
      return InvalidArgument("JSON Value: {} is of another kind than what stands before it", ForMessage(value));
    }
    if (common == Kind::kNone || kind == Kind::kFloat) common = kind;
  }
  return common;
}

Status ReadFeature(const Value& value, Feature* feature) {
  if (!value.IsArray()) {
    const Kind kind = KindOf(value);
    if (kind != Kind::kNone) return AddValue(value, kind, feature);
    return InvalidArgument("JSON Value: {} is neither a number, a string nor bytes, nor a list of them",
                           ForMessage(value));
  }
  ASSIGN_OR_RETURN(const Kind kind, CommonKind(value));
  for (const Value& each : value.GetArray()) RETURN_IF_ERROR(AddValue(each, kind, feature));
  return {};
}

Status ReadExample(const Value& value, const std::string& what, tensorflow::Example* example) {
  if (!value.IsObject())
    return InvalidArgument("JSON Value: {} at {} is no object of features", ForMessage(value), what);
  auto& features = *example->mutable_features()->mutable_feature();
  for (const auto& member : value.GetObject()) {
    const std::string name(member.name.GetString(), member.name.GetStringLength());
    if (features.contains(name)) return InvalidArgument("{}: feature \"{}\" stands there twice", what, name);
    const Status read = ReadFeature(member.value, &features[name]);
    if (!read) return Fail(read.error().code, "{}: feature \"{}\": {}", what, name, read.error().message);
  }
  return {};
}

}  // namespace

Status ExamplesFromJson(std::string_view json, tensorflow::serving::ModelSpec* spec,
                        tensorflow::serving::Input* input) {
  rapidjson::Document document;
  RETURN_IF_ERROR(ParseBody(json, &document));
  RETURN_IF_ERROR(ReadSignatureName(document, spec));
  const auto examples = document.FindMember("examples");
  if (examples == document.MemberEnd() || !examples->value.IsArray()) {
    return InvalidArgument(
        "JSON Value: {} When method is classify, key 'examples' is expected and must be a list/array",
        ForMessage(document));
  }
  if (examples->value.Empty()) return InvalidArgument("JSON Value: {} 'examples' has no values", ForMessage(document));
  const auto context = document.FindMember("context");
  const bool shared = context != document.MemberEnd();
  if (shared) {
    RETURN_IF_ERROR(
        ReadExample(context->value, "context", input->mutable_example_list_with_context()->mutable_context()));
  }
  auto* list = shared ? input->mutable_example_list_with_context()->mutable_examples()
                      : input->mutable_example_list()->mutable_examples();
  for (const Value& example : examples->value.GetArray()) {
    const std::string what = fmt::format("example {}", list->size());
    RETURN_IF_ERROR(ReadExample(example, what, list->Add()));
  }
  return {};
}

std::string ClassificationsToJson(const tensorflow::serving::ClassificationResult& result) {
  std::string out = "{\n    \"results\": [";
  const char* before_row = "";
  for (const auto& row : result.classifications()) {
    out.append(before_row).push_back('[');
    before_row = ", ";
    const char* before = "";
    for (const auto& one : row.classes()) {
      out.append(before).push_back('[');
      before = ", ";
      AppendString(one.label(), &out);
      out.append(", ");
      AppendFloat(one.score(), &out);
      out.push_back(']');
    }
    out.push_back(']');
  }
  return out.append("]\n}");
}

std::string RegressionsToJson(const tensorflow::serving::RegressionResult& result) {
  std::string out = "{\n    \"results\": [";
  const char* before = "";
  for (const auto& one : result.regressions()) {
    out.append(before);
    before = ", ";
    AppendFloat(one.value(), &out);
  }
  return out.append("]\n}");
}

}  // namespace longshore::frontend
