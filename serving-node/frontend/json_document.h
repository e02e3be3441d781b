// A request's body as a JSON document, and what all bodies have in common.
#pragma once

#define RAPIDJSON_HAS_STDSTRING 1
#include <rapidjson/document.h>

#include <string_view>

#include "common/error.h"
#include "tensorflow_serving/apis.pb.h"

namespace longshore::frontend {

// InvalidArgument for a text that is no JSON object, with TensorFlow Serving's text. Nesting costs no stack; bytes
// after the first value are ignored.
Status ParseBody(std::string_view json, rapidjson::Document* document);

// "signature_name", where the body has one.
Status ReadSignatureName(const rapidjson::Value& document, tensorflow::serving::ModelSpec* spec);

}  // namespace longshore::frontend
