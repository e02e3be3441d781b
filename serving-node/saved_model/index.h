// The index of a TensorBundle: a table of keys and values. The only place that knows the library which reads it.
#pragma once

#include <functional>
#include <string_view>

#include "common/error.h"
#include "common/file.h"

namespace longshore::saved_model {

// Is given a key and its value, which last as long as the call. Its error ends the reading.
using TakeEntry = std::function<Status(std::string_view key, std::string_view value)>;

// Gives every entry of the file to `take`, in the order of the keys, and returns its error if it has one. NotFound
// without the file; DataLoss when it is damaged; ResourceExhausted when memory does not suffice for what it announces.
// The message names the file, whatever its bytes are.
Status ReadIndex(const Path& path, const TakeEntry& take);

}  // namespace longshore::saved_model
