#include "serving-node/frontend/json_document.h"

#include <rapidjson/encodedstream.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>

#include "serving-node/frontend/json_tensor.h"

namespace longshore::frontend {
namespace {

using rapidjson::Value;

// Iterative: a body that nests half a million lists must not end the process.
constexpr unsigned kParseFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseNanAndInfFlag |
                                 rapidjson::kParseStopWhenDoneFlag | rapidjson::kParseFullPrecisionFlag;

}  // namespace

Status ParseBody(std::string_view json, rapidjson::Document* document) {
  if (json.empty()) return InvalidArgument("JSON Parse error: The document is empty");
  rapidjson::MemoryStream bytes(json.data(), json.size());
  rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream> stream(bytes);
  document->ParseStream<kParseFlags>(stream);
  if (document->HasParseError()) {
    // TensorFlow Serving's RapidJSON writes "] after" where newer ones write "']' after".
    std::string why = rapidjson::GetParseError_En(document->GetParseError());
    std::erase(why, '\'');
    return InvalidArgument("JSON Parse error: {} at offset: {}", why, document->GetErrorOffset());
  }
  if (!document->IsObject()) return InvalidArgument("JSON Value: {} Is not object", ForMessage(*document));
  return {};
}

Status ReadSignatureName(const Value& document, tensorflow::serving::ModelSpec* spec) {
  const auto found = document.FindMember("signature_name");
  if (found == document.MemberEnd()) return {};
  if (!found->value.IsString()) {
    return InvalidArgument("JSON Value: {} not formatted correctly. 'signature_name' key must be a string value.",
                           ForMessage(document));
  }
  spec->set_signature_name(found->value.GetString(), found->value.GetStringLength());
  return {};
}

}  // namespace longshore::frontend
