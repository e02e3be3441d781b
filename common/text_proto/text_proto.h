// Messages of Protocol Buffers as people write them: the form of TensorFlow Serving's configuration files.
#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <string_view>

#include "common/error.h"
#include "common/file.h"

namespace longshore {

inline constexpr size_t kTextProtoBytesMax = size_t{16} << 20;

// Where the fields of a message stand, so that what is wrong with a value can be said with its line.
using Locations = google::protobuf::TextFormat::ParseInfoTree;

// Fills the message. InvalidArgument "<what>:<line>:<column>: ..." for the first thing that is wrong, an unknown field
// included: a setting is obeyed or refused, never ignored.
Status ParseTextProto(std::string_view text, const std::string& what, google::protobuf::Message* message,
                      Locations* locations = nullptr);

// The same from a file. NotFound when there is none; ResourceExhausted above bytes_max.
Status ReadTextProto(const Path& file, google::protobuf::Message* message, size_t bytes_max = kTextProtoBytesMax);

}  // namespace longshore
