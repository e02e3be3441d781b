#include "serving-node/frontend/json/text.h"

#include <charconv>
#include <cmath>

#include "serving-node/frontend/json/reader.h"

// This header must be included after reader.h, which configures RapidJSON.
#include <rapidjson/stringbuffer.h>

namespace longshore::frontend::json {
namespace {

template <typename T>
void Append(T value, std::string* out) {
  if (std::isnan(value)) {
    out->append("NaN");
    return;
  }
  if (std::isinf(value)) {
    out->append(value < 0 ? "-Infinity" : "Infinity");
    return;
  }
  char text[40];
  const auto written = std::to_chars(text, text + sizeof text, value, std::chars_format::general);
  const std::string_view digits(text, static_cast<size_t>(written.ptr - text));
  out->append(digits);
  if (digits.find_first_of(".e") == std::string_view::npos) out->append(".0");
}

}  // namespace

void AppendString(std::string_view text, std::string* out) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  out->push_back('"');
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"': out->append("\\\""); break;
      case '\\': out->append("\\\\"); break;
      case '\n': out->append("\\n"); break;
      case '\r': out->append("\\r"); break;
      case '\t': out->append("\\t"); break;
      case '\b': out->append("\\b"); break;
      case '\f': out->append("\\f"); break;
      default:
        if (byte >= 0x20) {
          out->push_back(c);
        } else {
          out->append({'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]});
        }
    }
  }
  out->push_back('"');
}

bool IsUtf8(std::string_view text) {
  rapidjson::MemoryStream in(text.data(), text.size());
  rapidjson::StringBuffer ignored;
  while (in.Tell() < text.size()) {
    if (!rapidjson::UTF8<>::Validate(in, ignored)) return false;
  }
  return true;
}

void AppendFloat(float value, std::string* out) { Append(value, out); }
void AppendFloat(double value, std::string* out) { Append(value, out); }

}  // namespace longshore::frontend::json
