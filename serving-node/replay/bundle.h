// A captured request on the disk: text that can be read, changed and run again.
#pragma once

#include "common/error.h"
#include "common/file.h"
#include "longshore/capture.pb.h"

namespace longshore::replay {

// Its name ends so.
inline constexpr const char* kEnding = ".bundle";

// A larger file is neither written nor read. As text a number takes about six times its bytes.
inline constexpr size_t kBundleBytesMax = size_t{64} << 20;

// The file's content: a few lines that say what it is, then the message as text. ResourceExhausted above
// kBundleBytesMax.
Result<std::string> ToText(const capture::Bundle& bundle);

// InvalidArgument naming file and line for what is no bundle, or one without a request; ResourceExhausted above
// kBundleBytesMax.
Result<capture::Bundle> ReadBundle(const Path& file);

}  // namespace longshore::replay
