// The file format of a captured request: text that can be read, changed and replayed.
#pragma once

#include "common/base/error.h"
#include "common/base/path.h"
#include "longshore/capture.pb.h"

namespace longshore::replay {

// The extension of a bundle's file name.
inline constexpr const char* kEnding = ".bundle";

// Larger files are neither written nor read. As text, a tensor is about six times as large as in memory.
inline constexpr size_t kBundleBytesMax = size_t{64} << 20;

// Returns the content of the file: a comment line that says how to replay it, then the message in text format.
// ResourceExhausted above kBundleBytesMax.
Result<std::string> ToText(const capture::Bundle& bundle);

// Returns InvalidArgument, which names the file and the line, if the file is not a valid bundle or has no request;
// ResourceExhausted if it has more than kBundleBytesMax bytes.
Result<capture::Bundle> ReadBundle(const Path& file);

}  // namespace longshore::replay
