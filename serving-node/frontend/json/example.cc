#include "serving-node/frontend/json/example.h"

#include "serving-node/frontend/json/document.h"
#include "serving-node/frontend/json/text.h"

namespace longshore::frontend::json {
namespace {

using Event = JsonReader::Event;
using tensorflow::Feature;

enum class Kind { kBytes, kInteger, kFloat, kNone };

// Returns the kind of the value that begins at this event.
Kind KindOf(const JsonReader& at) {
  if (at.event() == Event::kString || IsBase64Object(at)) return Kind::kBytes;
  if (at.event() != Event::kScalar) return Kind::kNone;
  if (at.scalar().IsInt64() || at.scalar().IsBool()) return Kind::kInteger;
  return at.scalar().IsNumber() ? Kind::kFloat : Kind::kNone;
}

Status AddBytes(JsonReader* reader, tensorflow::BytesList* list) {
  if (reader->event() == Event::kString) {
    list->add_value(std::string(reader->text()));
    return {};
  }
  ASSIGN_OR_RETURN(std::string bytes, ReadBase64Object(reader));
  list->add_value(std::move(bytes));
  return {};
}

Status AddValue(JsonReader* reader, Kind kind, Feature* feature) {
  const rapidjson::Value& value = reader->scalar();
  switch (kind) {
    case Kind::kBytes: return AddBytes(reader, feature->mutable_bytes_list());
    case Kind::kInteger:
      feature->mutable_int64_list()->add_value(value.IsBool() ? value.GetBool() : value.GetInt64());
      return {};
    default:
      feature->mutable_float_list()->add_value(value.IsBool() ? value.GetBool()
                                                              : static_cast<float>(value.GetDouble()));
      return {};
  }
}

// Returns the kind that fits all values of the list; kNone for an empty list. InvalidArgument if no kind fits all
// values.
Result<Kind> CommonKind(const JsonReader& list) {
  JsonReader reader(list.json(), list.offset());
  reader.Next();
  Kind common = Kind::kNone;
  while (reader.Next() && !reader.ends()) {
    const Kind kind = KindOf(reader);
    if (kind == Kind::kNone) {
      return InvalidArgument("JSON Value: {} is neither a number, a string nor bytes", ForMessage(reader));
    }
    const bool numbers = common != Kind::kBytes && kind != Kind::kBytes;
    if (common != Kind::kNone && common != kind && !numbers) {
      return InvalidArgument("JSON Value: {} is not of the same kind as the values before it", ForMessage(reader));
    }
    if (common == Kind::kNone || kind == Kind::kFloat) common = kind;
    reader.SkipRest();
  }
  return common;
}

// Reads the value of a feature. Requires that the reader is on the first event of the value, and leaves it on the last
// one.
Status ReadFeature(JsonReader* reader, Feature* feature) {
  if (reader->event() != Event::kStartArray) {
    const Kind kind = KindOf(*reader);
    if (kind != Kind::kNone) return AddValue(reader, kind, feature);
    return InvalidArgument("JSON Value: {} is neither a number, a string nor bytes, nor a list of them",
                           ForMessage(*reader));
  }
  ASSIGN_OR_RETURN(const Kind kind, CommonKind(*reader));
  while (reader->Next() && !reader->ends()) RETURN_IF_ERROR(AddValue(reader, kind, feature));
  return {};
}

Status ReadExample(JsonReader* reader, const std::string& what, tensorflow::Example* example) {
  if (reader->event() != Event::kStartObject)
    return InvalidArgument("JSON Value: {} at {} is not an object of features", ForMessage(*reader), what);
  auto& features = *example->mutable_features()->mutable_feature();
  while (reader->Next() && reader->event() == Event::kKey) {
    const std::string name(reader->text());
    reader->Next();
    if (features.contains(name)) return InvalidArgument("{}: feature \"{}\" occurs twice", what, Shown(name));
    const Status read = ReadFeature(reader, &features[name]);
    if (!read) return Fail(read.error().code, "{}: feature \"{}\": {}", what, Shown(name), read.error().message);
  }
  return {};
}

}  // namespace

Status ExamplesFromJson(std::string_view json, tensorflow::serving::ModelSpec* spec,
                        tensorflow::serving::Input* input) {
  ASSIGN_OR_RETURN(const JsonBody body, JsonBody::Parse(json));
  RETURN_IF_ERROR(ReadSignatureName(body, spec));
  auto examples = body.Find("examples");
  if (!examples || examples->event() != Event::kStartArray) {
    return InvalidArgument(
        "JSON Value: {} When method is classify, key 'examples' is expected and must be a list/array",
        body.ForMessage());
  }
  examples->Next();
  if (examples->ends()) return InvalidArgument("JSON Value: {} 'examples' has no values", body.ForMessage());
  auto context = body.Find("context");
  if (context) {
    RETURN_IF_ERROR(ReadExample(&*context, "context", input->mutable_example_list_with_context()->mutable_context()));
  }
  auto* list = context ? input->mutable_example_list_with_context()->mutable_examples()
                       : input->mutable_example_list()->mutable_examples();
  do {
    const std::string what = fmt::format("example {}", list->size());
    RETURN_IF_ERROR(ReadExample(&*examples, what, list->Add()));
  } while (examples->Next() && !examples->ends());
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

}  // namespace longshore::frontend::json
