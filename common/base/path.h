// Defines Path, the type for paths of files and folders.
#pragma once

#include <filesystem>

namespace longshore {

using Path = std::filesystem::path;

}  // namespace longshore
