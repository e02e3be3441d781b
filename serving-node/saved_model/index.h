// Reads the index of a TensorBundle: a table of keys and values. Only index.cc depends on LevelDB, which reads the
// file.
#pragma once

#include <functional>
#include <string_view>

#include "common/base/error.h"
#include "common/base/path.h"

namespace longshore::saved_model {

// Receives a key and its value, which are valid only during the call. An error ends the reading.
using TakeEntry = std::function<Status(std::string_view key, std::string_view value)>;

// Calls `take` with every entry of the file in the order of the keys, and returns its first error. NotFound if the file
// does not exist; DataLoss if it is damaged; ResourceExhausted if there is not enough memory for its blocks. Messages
// name the file.
Status ReadIndex(const Path& path, const TakeEntry& take);

}  // namespace longshore::saved_model
