// The folder of the sources, for tests that read models, cases and documents from it.
#pragma once

#include <filesystem>

namespace longshore::source_tree {

// The absolute path of the folder that has the top CMakeLists.txt. Only this library's object file names it, so that a
// compiler cache is valid for every clone.
std::filesystem::path Root();

}  // namespace longshore::source_tree
