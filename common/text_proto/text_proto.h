// Parses the text format of Protocol Buffers, the format of TensorFlow Serving's configuration files.
#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <string_view>

#include "common/base/error.h"
#include "common/base/path.h"

namespace longshore {

inline constexpr size_t kTextProtoBytesMax = size_t{16} << 20;

// The positions of the fields in the text, so that errors about values can name the line.
using Locations = google::protobuf::TextFormat::ParseInfoTree;

// Parses the text into the message. Returns InvalidArgument for the first error, with the message
// "<what>:<line>:<column>: Error parsing text-format <type of the message>: <line>:<column>: ...": our position, and
// then what Protocol Buffers, and thus TensorFlow Serving's ParseProtoTextFile, logs (TextFormat::Parser). An unknown
// field is an error, so that a setting is never ignored.
Status ParseTextProto(std::string_view text, const std::string& what, google::protobuf::Message* message,
                      Locations* locations = nullptr);

// Like ParseTextProto, for a file. Returns NotFound if the file does not exist, and ResourceExhausted if it has more
// than bytes_max bytes.
Status ReadTextProto(const Path& file, google::protobuf::Message* message, size_t bytes_max = kTextProtoBytesMax);

}  // namespace longshore
