#include "serving-node/frontend/oip/codec/message_json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>

#include "common/base/text.h"
#include "serving-node/frontend/json/text.h"

namespace longshore::frontend::oip::codec {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

class MessageWriter {
 public:
  MessageWriter(Unset unset, std::string* out) : unset_(unset), out_(*out) {}

  void Write(const Message& message) {
    out_.push_back('{');
    const auto& descriptor = *message.GetDescriptor();
    for (int i = 0; i < descriptor.field_count(); ++i) {
      const FieldDescriptor& field = *descriptor.field(i);
      if (!IsPrinted(message, field)) continue;
      AppendKey(field.name());
      WriteField(message, field);
    }
    out_.push_back('}');
  }

 private:
  bool IsPrinted(const Message& message, const FieldDescriptor& field) const {
    const Reflection& reflection = *message.GetReflection();
    if (field.is_repeated()) return unset_ == Unset::kPrint || reflection.FieldSize(message, &field) > 0;
    if (field.has_presence() || unset_ == Unset::kOmit) return reflection.HasField(message, &field);
    return true;
  }

  void AppendKey(const std::string& name) {
    if (out_.back() != '{') out_.push_back(',');
    json::AppendString(name, &out_);
    out_.push_back(':');
  }

  void WriteField(const Message& message, const FieldDescriptor& field) {
    if (field.is_map()) return WriteMap(message, field);
    if (!field.is_repeated()) return WriteValue(message, field, -1);
    out_.push_back('[');
    const int size = message.GetReflection()->FieldSize(message, &field);
    for (int i = 0; i < size; ++i) {
      if (i > 0) out_.push_back(',');
      WriteValue(message, field, i);
    }
    out_.push_back(']');
  }

  // Writes a map with keys of type string.
  void WriteMap(const Message& message, const FieldDescriptor& field) {
    const Reflection& reflection = *message.GetReflection();
    out_.push_back('{');
    for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
      const Message& entry = reflection.GetRepeatedMessage(message, &field, i);
      AppendKey(entry.GetReflection()->GetString(entry, entry.GetDescriptor()->map_key()));
      WriteValue(entry, *entry.GetDescriptor()->map_value(), -1);
    }
    out_.push_back('}');
  }

  // Writes the value of a field, or an element of a repeated field if the index is not negative.
  void WriteValue(const Message& message, const FieldDescriptor& field, int i) {
    const Reflection& r = *message.GetReflection();
    const bool is_element = i >= 0;
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return Write(is_element ? r.GetRepeatedMessage(message, &field, i) : r.GetMessage(message, &field));
      case FieldDescriptor::CPPTYPE_STRING:
        return json::AppendString(
            ValidUtf8(is_element ? r.GetRepeatedString(message, &field, i) : r.GetString(message, &field)), &out_);
      case FieldDescriptor::CPPTYPE_BOOL:
        out_.append((is_element ? r.GetRepeatedBool(message, &field, i) : r.GetBool(message, &field)) ? "true"
                                                                                                      : "false");
        return;
      case FieldDescriptor::CPPTYPE_ENUM:
        return json::AppendString(
            (is_element ? r.GetRepeatedEnum(message, &field, i) : r.GetEnum(message, &field))->name(), &out_);
      default: return WriteNumber(message, field, i);
    }
  }

  void WriteNumber(const Message& message, const FieldDescriptor& field, int i) {
    const Reflection& r = *message.GetReflection();
    const bool is_element = i >= 0;
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        out_.append(std::to_string(is_element ? r.GetRepeatedInt32(message, &field, i) : r.GetInt32(message, &field)));
        return;
      case FieldDescriptor::CPPTYPE_UINT32:
        out_.append(
            std::to_string(is_element ? r.GetRepeatedUInt32(message, &field, i) : r.GetUInt32(message, &field)));
        return;
      case FieldDescriptor::CPPTYPE_INT64:
        out_.append(std::to_string(is_element ? r.GetRepeatedInt64(message, &field, i) : r.GetInt64(message, &field)));
        return;
      case FieldDescriptor::CPPTYPE_UINT64:
        out_.append(
            std::to_string(is_element ? r.GetRepeatedUInt64(message, &field, i) : r.GetUInt64(message, &field)));
        return;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return json::AppendFloat(is_element ? r.GetRepeatedDouble(message, &field, i) : r.GetDouble(message, &field),
                                 &out_);
      default:
        return json::AppendFloat(is_element ? r.GetRepeatedFloat(message, &field, i) : r.GetFloat(message, &field),
                                 &out_);
    }
  }

  const Unset unset_;
  std::string& out_;
};

}  // namespace

std::string MessageToJson(const Message& message, Unset unset) {
  std::string out;
  MessageWriter(unset, &out).Write(message);
  return out;
}

}  // namespace longshore::frontend::oip::codec
