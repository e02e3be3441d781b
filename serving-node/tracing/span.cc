#include "serving-node/tracing/span.h"

#include "common/base/text.h"

namespace longshore::tracing {
namespace {

void AppendBigEndian(uint64_t number, std::string* bytes) {
  for (int shift = 56; shift >= 0; shift -= 8) bytes->push_back(static_cast<char>(number >> shift & 0xff));
}

}  // namespace

void AddText(std::string_view key, std::string_view text, Attributes* attributes) {
  auto& attribute = *attributes->Add();
  attribute.set_key(std::string(key));
  attribute.mutable_value()->set_string_value(CutText(text, kTextBytesMax));
}

void AddNumber(std::string_view key, int64_t number, Attributes* attributes) {
  auto& attribute = *attributes->Add();
  attribute.set_key(std::string(key));
  attribute.mutable_value()->set_int_value(number);
}

std::string BytesOf(const TraceId& id) {
  std::string bytes;
  AppendBigEndian(id.high, &bytes);
  AppendBigEndian(id.low, &bytes);
  return bytes;
}

std::string BytesOf(uint64_t span_id) {
  std::string bytes;
  AppendBigEndian(span_id, &bytes);
  return bytes;
}

void SetError(Code code, Span* span) {
  span->mutable_status()->set_code(opentelemetry::proto::trace::v1::Status::STATUS_CODE_ERROR);
  span->mutable_status()->set_message(std::string(CodeName(code)));
}

bool IsServerError(Code code) {
  switch (code) {
    case Code::kUnknown:
    case Code::kDeadlineExceeded:
    case Code::kUnimplemented:
    case Code::kInternal:
    case Code::kUnavailable:
    case Code::kDataLoss: return true;
    default: return false;
  }
}

}  // namespace longshore::tracing
