#include "serving-node/frontend/oip/codec/json_request.h"

#include <utility>

#include "serving-node/frontend/json/document.h"
#include "serving-node/frontend/oip/codec/json_values.h"
#include "serving-node/frontend/oip/codec/number_lists.h"
#include "serving-node/frontend/oip/codec/raw.h"

namespace longshore::frontend::oip::codec {
namespace {

using json::JsonReader;
using tensor::Tensor;

// The parts of an input, which may have any order in the JSON.
struct JsonInput {
  InputHead head;
  bool has_datatype = false;
  bool has_shape = false;
  std::optional<size_t> data;         // The offset of the value of "data".
  std::optional<size_t> binary_size;  // The parameter "binary_data_size".
  bool is_shared = false;             // Whether a parameter names a region of shared memory.
};

// The parts of a body.
struct BodyParts {
  std::string_view json;
  std::string_view binary;  // The bytes after the JSON.
  int64_t elements_max;
};

class BodyReader {
 public:
  // `lists` are the lists of numbers that are empty in the JSON (SplitJson).
  BodyReader(const BodyParts& body, InferRequest* request, const std::map<size_t, std::string_view>& lists)
      : json_(body.json), lists_(lists), binary_(body.binary), budget_(body.elements_max), request_(*request) {}

  Status Read() {
    const auto outline = json::JsonBody::Parse(json_);
    if (!outline) return Prefixed(outline.error(), "failed to parse the request JSON buffer");
    scalars_ = outline->scalars();
    JsonReader reader(json_);
    reader.Next();
    RETURN_IF_ERROR(
        ForEachMember(&reader, "request", [&](const std::string& key) { return ReadMember(key, &reader); }));
    if (!has_inputs_) return InvalidArgument("Unable to parse 'inputs': the request has none");
    // A list that no input has taken was not checked.
    if (lists_taken_ != lists_.size()) return InvalidArgument("a list of numbers is not the data of an input");
    if (binary_.empty()) return {};
    return InvalidArgument("unexpected additional input data for model '{}': {} bytes follow the inputs",
                           request_.model, binary_.size());
  }

 private:
  Status ReadMember(const std::string& key, JsonReader* reader) {
    if (key == "id") {
      ASSIGN_OR_RETURN(request_.id, ReadText(*reader, "id"));
    } else if (key == "parameters") {
      return ReadParameters(reader, &request_);
    } else if (key == "inputs") {
      has_inputs_ = true;
      return ForEachElement(reader, "inputs", [&] { return ReadInput(reader); });
    } else if (key == "outputs") {
      return ForEachElement(reader, "outputs", [&] { return ReadOutput(reader); });
    } else {
      reader->SkipRest();
    }
    return {};
  }

  template <typename Target>
  static Status ReadParameters(JsonReader* reader, Target* target) {
    return ForEachMember(reader, "parameters", [&](const std::string& name) -> Status {
      ASSIGN_OR_RETURN(const Parameter value, ReadParameter(reader, name));
      return SetParameter(name, value, target);
    });
  }

  Status ReadOutput(JsonReader* reader) {
    RequestedOutput output;
    std::optional<size_t> parameters;
    RETURN_IF_ERROR(ForEachMember(reader, "outputs", [&](const std::string& key) -> Status {
      if (key == "name") {
        ASSIGN_OR_RETURN(output.name, ReadText(*reader, "name"));
        return {};
      }
      if (key == "parameters") parameters = reader->offset();
      reader->SkipRest();
      return {};
    }));
    if (output.name.empty()) return InvalidArgument("Unable to parse 'outputs': an output has no 'name'");
    if (parameters) RETURN_IF_ERROR(ReadParametersAt(*parameters, &output));
    return AddOutput(std::move(output), &request_);
  }

  template <typename Target>
  Status ReadParametersAt(size_t offset, Target* target) const {
    JsonReader reader(json_, offset);
    reader.Next();
    return ReadParameters(&reader, target);
  }

  Status ReadInput(JsonReader* reader) {
    JsonInput input;
    input.head.model = request_.model;
    RETURN_IF_ERROR(
        ForEachMember(reader, "inputs", [&](const std::string& key) { return ReadInputMember(key, reader, &input); }));
    if (input.head.name.empty()) return InvalidArgument("Unable to parse 'inputs': an input has no 'name'");
    if (input.is_shared) return NoSharedMemory(input.head.name);
    if (!input.has_datatype) return InvalidArgument("Unable to parse 'datatype' of input '{}'", input.head.name);
    if (!input.has_shape) return InvalidArgument("Unable to parse 'shape' of input '{}'", input.head.name);
    ASSIGN_OR_RETURN(Tensor values, ValuesOf(input));
    return AddInput(input.head.name, std::move(values), &request_);
  }

  Status ReadInputMember(const std::string& key, JsonReader* reader, JsonInput* input) {
    if (key == "name") {
      ASSIGN_OR_RETURN(input->head.name, ReadText(*reader, "name"));
    } else if (key == "datatype") {
      ASSIGN_OR_RETURN(const std::string name, ReadText(*reader, "datatype"));
      input->has_datatype = true;
      return SetDatatype(name, &input->head);
    } else if (key == "shape") {
      ASSIGN_OR_RETURN(input->head.shape, ReadShape(reader, input->head.name));
      input->has_shape = true;
    } else if (key == "parameters") {
      return ReadInputParameters(reader, input);
    } else {
      if (key == "data" && !IsNull(*reader)) input->data = reader->offset();
      reader->SkipRest();
    }
    return {};
  }

  static Status ReadInputParameters(JsonReader* reader, JsonInput* input) {
    return ForEachMember(reader, "parameters", [&](const std::string& name) -> Status {
      ASSIGN_OR_RETURN(const Parameter value, ReadParameter(reader, name));
      input->is_shared |= name.starts_with("shared_memory_");
      if (name != "binary_data_size") return {};
      const auto* size = std::get_if<int64_t>(&value);
      if (size == nullptr || *size < 0) return InvalidArgument("Unable to parse 'binary_data_size': not a size");
      input->binary_size = static_cast<size_t>(*size);
      return {};
    });
  }

  Result<Tensor> ValuesOf(const JsonInput& input) {
    const std::string& name = input.head.name;
    if (input.data.has_value() == input.binary_size.has_value()) {
      return InvalidArgument(
          "Input must set only one of the following fields: 'data', 'binary_data_size' in "
          "'parameters'. But {} is set for input '{}'",
          input.data ? "both" : "neither", name);
    }
    if (input.data) {
      if (const auto list = lists_.find(*input.data); list != lists_.end()) {
        ++lists_taken_;
        return ReadList(list->second, input.head, &budget_);
      }
      JsonReader reader(json_, *input.data);
      reader.Next();
      return ReadData(&reader, input.head, scalars_, &budget_);
    }
    if (*input.binary_size > binary_.size()) {
      return InvalidArgument("unexpected size {} for input '{}', expecting less than {} bytes", *input.binary_size,
                             name, binary_.size());
    }
    const std::string_view bytes = binary_.substr(0, *input.binary_size);
    binary_.remove_prefix(*input.binary_size);
    return FromRaw(input.head, bytes, &budget_);
  }

  const std::string_view json_;
  const std::map<size_t, std::string_view>& lists_;
  size_t lists_taken_ = 0;
  std::string_view binary_;  // The bytes after the JSON that no input has taken.
  ElementBudget budget_;
  InferRequest& request_;
  size_t scalars_ = 0;
  bool has_inputs_ = false;
};

// Reads a body of which most are lists of numbers. Returns false if the other way must read it.
bool ReadSplit(const BodyParts& body, InferRequest* request) {
  const auto split = SplitNumberLists(body.json);
  if (!split) return false;
  InferRequest read = *request;
  const BodyParts rest{split->rest, body.binary, body.elements_max};
  if (!BodyReader(rest, &read, split->lists).Read()) return false;
  *request = std::move(read);
  return true;
}

}  // namespace

Status ReadBody(std::string_view body, std::optional<size_t> json_bytes, int64_t elements_max, InferRequest* request) {
  const size_t size = json_bytes.value_or(body.size());
  if (size == 0 || size > body.size()) {
    return InvalidArgument(
        "must specify valid 'Inference-Header-Content-Length' in request header and 'binary_data_size' when passing "
        "inputs in binary data format: {} is not the size of a JSON header in a body of {} bytes",
        size, body.size());
  }
  const BodyParts parts{body.substr(0, size), body.substr(size), elements_max};
  if (ReadSplit(parts, request)) return {};
  return BodyReader(parts, request, {}).Read();
}

}  // namespace longshore::frontend::oip::codec
