#include "tests/source_tree/source_tree.h"

namespace longshore::source_tree {

std::filesystem::path Root() { return LONGSHORE_SOURCE_DIR; }

}  // namespace longshore::source_tree
