#include "common/text_proto/text_proto.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "common/os/file.h"

namespace longshore {
namespace {

class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  FirstError(const std::string& what, const std::string& type) : what_(what), type_(type) {}

  // `line` and `column` are counted from 0.
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    if (!text_.empty()) return;
    const std::string position = fmt::format("{}:{}", line + 1, column + 1);
    text_ = fmt::format("{}:{}: Error parsing text-format {}: {}: {}", what_, position, type_, position, message);
  }
  void AddWarning(int, google::protobuf::io::ColumnNumber, const std::string&) override {}

  const std::string& text() const { return text_; }

 private:
  const std::string& what_;
  const std::string& type_;
  std::string text_;
};

}  // namespace

Status ParseTextProto(std::string_view text, const std::string& what, google::protobuf::Message* message,
                      Locations* locations) {
  google::protobuf::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  FirstError error(what, message->GetDescriptor()->full_name());
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (locations != nullptr) parser.WriteLocationsTo(locations);
  if (parser.Parse(&stream, message)) return {};
  return InvalidArgument("{}", error.text().empty() ? "cannot parse " + what : error.text());
}

Status ReadTextProto(const Path& file, google::protobuf::Message* message, size_t bytes_max) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(file, bytes_max));
  return ParseTextProto(text, file.string(), message);
}

}  // namespace longshore
