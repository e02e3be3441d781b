#include "serving-node/frontend/json/example.h"

#include "serving-node/frontend/json/document.h"
#include "serving-node/frontend/json/text.h"

namespace longshore::frontend::json {
namespace {

using Event = JsonReader::Event;
using tensorflow::Feature;

using KindCase = Feature::KindCase;

// Returns the kind of list to which the value that begins at this event belongs; KIND_NOT_SET if to none.
KindCase KindOf(const JsonReader& at) {
  if (at.event() == Event::kString || IsBase64Object(at)) return KindCase::kBytesList;
  if (at.event() != Event::kScalar || at.scalar().IsNull()) return KindCase::KIND_NOT_SET;
  return at.scalar().IsDouble() ? KindCase::kFloatList : KindCase::kInt64List;
}

const char* NameOf(KindCase kind) {
  return kind == KindCase::kBytesList ? "bytes" : kind == KindCase::kFloatList ? "float" : "int64";
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

Status AddInteger(const rapidjson::Value& value, std::string_view name, tensorflow::Int64List* list) {
  if (value.IsUint64() && !value.IsInt64()) {
    return InvalidArgument("Feature: {} has uint64_t element. Only int64_t is supported.", Shown(name));
  }
  list->add_value(value.IsBool() ? value.GetBool() : value.GetInt64());
  return {};
}

// Appends the value to the feature. The first value decides of which kind the others must be. Requires that the reader
// is on the first event of the value, and leaves it on the last one. The texts are those of TensorFlow Serving's
// AddValueToFeature.
Status AddValue(JsonReader* reader, std::string_view name, Feature* feature) {
  const KindCase kind = KindOf(*reader);
  if (kind == KindCase::KIND_NOT_SET) {
    return InvalidArgument("Feature: {} has element with unexpected JSON type: {}", Shown(name), JsonTypeName(*reader));
  }
  if (feature->kind_case() != KindCase::KIND_NOT_SET && feature->kind_case() != kind) {
    return InvalidArgument("Unexpected element type in feature: {} expecting type: {}", Shown(name),
                           NameOf(feature->kind_case()));
  }
  if (kind == KindCase::kBytesList) return AddBytes(reader, feature->mutable_bytes_list());
  if (kind == KindCase::kInt64List) return AddInteger(reader->scalar(), name, feature->mutable_int64_list());
  feature->mutable_float_list()->add_value(static_cast<float>(reader->scalar().GetDouble()));
  return {};
}

// Reads the value of a feature. Requires that the reader is on the first event of the value, and leaves it on the last
// one.
Status ReadFeature(JsonReader* reader, std::string_view name, Feature* feature) {
  if (reader->event() != Event::kStartArray) return AddValue(reader, name, feature);
  while (reader->Next() && !reader->ends()) RETURN_IF_ERROR(AddValue(reader, name, feature));
  return {};
}

Status ReadExample(JsonReader* reader, tensorflow::Example* example) {
  if (reader->event() != Event::kStartObject)
    return InvalidArgument("Example must be JSON object but got JSON {}", JsonTypeName(*reader));
  auto& features = *example->mutable_features()->mutable_feature();
  while (reader->Next() && reader->event() == Event::kKey) {
    const std::string name(reader->text());
    reader->Next();
    if (features.contains(name)) return InvalidArgument("Feature: {} occurs twice in an example", Shown(name));
    RETURN_IF_ERROR(ReadFeature(reader, name, &features[name]));
  }
  return {};
}

// Returns a reader on the first of the examples.
Result<std::unique_ptr<JsonReader>> FindExamples(const JsonBody& body) {
  auto examples = body.Find("examples");
  if (!examples) {
    return InvalidArgument("JSON Value: {} When method is classify, key 'examples' is expected and was not found",
                           body.ForMessage());
  }
  if (examples->event() != Event::kStartArray)
    return InvalidArgument("JSON Value: {} Expecting 'examples' value to be an list/array", body.ForMessage());
  examples->Next();
  if (examples->ends()) return InvalidArgument("JSON Value: {} 'examples' value is an empty array", body.ForMessage());
  return examples;
}

}  // namespace

Status ExamplesFromJson(std::string_view json, tensorflow::serving::ModelSpec* spec,
                        tensorflow::serving::Input* input) {
  ASSIGN_OR_RETURN(const JsonBody body, JsonBody::Parse(json));
  RETURN_IF_ERROR(ReadSignatureName(body, spec));
  const auto context = body.Find("context");
  if (context) {
    RETURN_IF_ERROR(ReadExample(context.get(), input->mutable_example_list_with_context()->mutable_context()));
  }
  ASSIGN_OR_RETURN(const auto examples, FindExamples(body));
  auto* list = context ? input->mutable_example_list_with_context()->mutable_examples()
                       : input->mutable_example_list()->mutable_examples();
  do {
    RETURN_IF_ERROR(ReadExample(examples.get(), list->Add()));
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
