// Text-proto files, the form of TensorFlow Serving's configuration.
#pragma once

#include <google/protobuf/message.h>

#include <string_view>

#include "common/error.h"
#include "common/file.h"

namespace longshore::config {

inline constexpr size_t kConfigBytesMax = size_t{16} << 20;

// Fills the message. InvalidArgument "<what>:<line>:<column>: ..." for the first thing that is wrong, an unknown field
// included: a setting is obeyed or refused, never ignored.
Status ParseTextProto(std::string_view text, const std::string& what, google::protobuf::Message* message);

// The same from a file. NotFound when there is none.
Status ReadTextProto(const Path& file, google::protobuf::Message* message);

}  // namespace longshore::config
