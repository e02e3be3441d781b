#include "serving-node/frontend/json/request.h"

#include <fmt/ranges.h>

#include <map>
#include <set>

#include "serving-node/frontend/json/document.h"
#include "serving-node/frontend/json/tensor.h"
#include "serving-node/inference/inference.h"

namespace longshore::frontend::json {
namespace {

using Event = JsonReader::Event;
using InputInfos = google::protobuf::Map<std::string, tensorflow::TensorInfo>;

TensorBuilder BuilderFor(const tensorflow::TensorInfo& info, TensorBuilder::Expected expected) {
  return TensorBuilder(static_cast<tensor::DType>(info.dtype()), expected);
}

// The tensors that are being built, by the name of the input.
struct Builders {
  TensorBuilder::Expected expected;
  std::map<std::string, TensorBuilder> by_name = {};
};

// Appends a value to the tensor of the input `name`. Requires that the reader is on the first event of the value, and
// leaves it on the last one.
Status AppendItem(JsonReader* reader, const std::string& name, const InputInfos& infos, Builders* builders) {
  const auto info = infos.find(name);
  if (info == infos.end()) return InvalidArgument("JSON object: does not have named input: {}", Shown(name));
  return builders->by_name.try_emplace(name, BuilderFor(info->second, builders->expected)).first->second.Append(reader);
}

Status AppendObject(JsonReader* reader, int index, const InputInfos& infos, Builders* builders) {
  const size_t begin = reader->offset();
  std::set<std::string> keys;
  while (reader->Next() && reader->event() == Event::kKey) {
    const std::string name(reader->text());
    reader->Next();
    const bool repeated = !keys.insert(name).second;
    const Status appended = repeated ? Status(InvalidArgument("JSON object: names an input twice"))
                                     : AppendItem(reader, name, infos, builders);
    if (!appended) {
      return Fail(appended.error().code, "Failed to process element: {} key: {} of 'instances' list. Error: {}", index,
                  Shown(name), ToString(appended.error()));
    }
  }
  std::set<std::string> names;
  for (const auto& [name, info] : infos) names.insert(name);
  if (keys == names) return {};
  return InvalidArgument("Failed to process element: {} of 'instances' list. JSON object: {} keys must be equal to: {}",
                         index, ForMessage(reader->json(), begin), fmt::join(names, ","));
}

Status AppendPlain(JsonReader* reader, int index, const InputInfos& infos, Builders* builders) {
  const Status appended = AppendItem(reader, infos.begin()->first, infos, builders);
  if (appended) return {};
  return Fail(appended.error().code, "Failed to process element: {} of 'instances' list. Error: {}", index,
              ToString(appended.error()));
}

bool IsRowObject(const JsonReader& at) { return at.event() == Event::kStartObject && !IsBase64Object(at); }

Status ReadRow(JsonReader* reader, bool objects, int index, const InputInfos& infos, Builders* builders) {
  if (objects != IsRowObject(*reader)) {
    return InvalidArgument("Expecting {} but got {} at item {} of input list", objects ? "object" : "value/list",
                           objects ? "list" : "object", index);
  }
  return objects ? AppendObject(reader, index, infos, builders) : AppendPlain(reader, index, infos, builders);
}

// Reads the value of "instances". Requires that the reader is on its first event.
Status ReadRows(const JsonBody& body, JsonReader* reader, const InputInfos& infos, engine::TensorMap* inputs) {
  if (reader->event() != Event::kStartArray) {
    return InvalidArgument("JSON Value: {} Expecting 'instances' to be an list/array", body.ForMessage());
  }
  reader->Next();
  if (reader->ends()) return InvalidArgument("JSON Value: {} No values in 'instances' array", body.ForMessage());
  if (reader->event() != Event::kStartObject && infos.size() > 1) {
    return InvalidArgument(
        "instances is a plain list, but expecting list of objects as multiple input tensors required as per "
        "tensorinfo_map");
  }
  const bool objects = IsRowObject(*reader);
  size_t elements_left = body.scalars();
  Builders builders{{.values = body.rows(), .elements_left = &elements_left}};
  int index = 0;
  do {
    RETURN_IF_ERROR(ReadRow(reader, objects, index++, infos, &builders));
  } while (reader->Next() && !reader->ends());
  for (auto& [name, builder] : builders.by_name) {
    ASSIGN_OR_RETURN((*inputs)[name], builder.TakeRows());
  }
  return {};
}

Status ReadColumn(JsonReader* reader, const std::string& name, const tensorflow::TensorInfo& info,
                  TensorBuilder::Expected expected, engine::TensorMap* inputs) {
  TensorBuilder builder = BuilderFor(info, expected);
  RETURN_IF_ERROR(builder.Append(reader));
  ASSIGN_OR_RETURN((*inputs)[name], builder.TakeValue());
  return {};
}

// Returns, for each input, the offset of its value in the object. If a name occurs twice, its first value counts.
std::map<std::string, size_t> ColumnsOf(const JsonReader& object, const InputInfos& infos) {
  JsonReader reader(object.json(), object.offset());
  reader.Next();
  std::map<std::string, size_t> columns;
  while (reader.Next() && reader.event() == Event::kKey) {
    const std::string name(reader.text());
    reader.Next();
    if (infos.contains(name)) columns.try_emplace(name, reader.offset());
    reader.SkipRest();
  }
  return columns;
}

// Reads the value of "inputs". Requires that the reader is on its first event.
Status ReadColumns(const JsonBody& body, JsonReader* reader, const InputInfos& infos, engine::TensorMap* inputs) {
  size_t elements_left = body.scalars();
  const TensorBuilder::Expected expected{.elements_left = &elements_left};
  if (!IsRowObject(*reader)) {
    if (infos.size() > 1) {
      return InvalidArgument(
          "inputs is a plain value/list, but expecting an object as multiple input tensors required as per "
          "tensorinfo_map");
    }
    return ReadColumn(reader, infos.begin()->first, infos.begin()->second, expected, inputs);
  }
  const auto columns = ColumnsOf(*reader, infos);
  for (const auto& [name, info] : infos) {
    const auto found = columns.find(name);
    if (found == columns.end()) return InvalidArgument("Missing named input: {} in 'inputs' object.", name);
    JsonReader column(reader->json(), found->second);
    column.Next();
    RETURN_IF_ERROR(ReadColumn(&column, name, info, expected, inputs));
  }
  return {};
}

}  // namespace

Result<Prediction> PredictionFromJson(std::string_view json, const FindSignature& find_signature, size_t elements_max) {
  ASSIGN_OR_RETURN(const JsonBody body, JsonBody::Parse(json));
  tensorflow::serving::ModelSpec spec;
  RETURN_IF_ERROR(ReadSignatureName(body, &spec));
  const std::string& named = spec.signature_name();
  ASSIGN_OR_RETURN(const tensorflow::SignatureDef* signature, find_signature(inference::SignatureName(named)));
  const InputInfos& infos = signature->inputs();
  if (infos.empty()) {
    return InvalidArgument("Failed to get input map for signature: {}", named.empty() ? "DEFAULT" : named);
  }
  // One of the scalars may be the signature name.
  if (body.scalars() > elements_max + 1)
    return ResourceExhausted("the inputs have more than {} elements", elements_max);
  auto rows = body.Find("instances");
  auto columns = body.Find("inputs");
  if (rows && columns) {
    return InvalidArgument(
        "JSON Value: {} Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist ",
        body.ForMessage());
  }
  if (!rows && !columns) return InvalidArgument("Missing 'inputs' or 'instances' key");
  Prediction prediction{.form = rows ? JsonForm::kRow : JsonForm::kColumnar, .signature_name = named, .inputs = {}};
  RETURN_IF_ERROR(rows ? ReadRows(body, &*rows, infos, &prediction.inputs)
                       : ReadColumns(body, &*columns, infos, &prediction.inputs));
  return prediction;
}

}  // namespace longshore::frontend::json
