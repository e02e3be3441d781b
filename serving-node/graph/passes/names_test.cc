#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "common/os/file.h"
#include "serving-node/graph/passes/passes.h"
#include "tests/source_tree/source_tree.h"

namespace longshore::graph::passes {
namespace {

// Adds the names between backticks in the first column of a table row such as "| `gelus`, `silus` | ... |".
void AddNames(const std::string& row, std::vector<std::string>* names) {
  const std::string cell = row.substr(1, row.find('|', 1) - 1);
  for (size_t begin = cell.find('`'); begin != std::string::npos; begin = cell.find('`', begin)) {
    const size_t end = cell.find('`', begin + 1);
    if (end == std::string::npos) return;
    names->push_back(cell.substr(begin + 1, end - begin - 1));
    begin = end + 1;
  }
}

// The passes in the table of docs/engine.md.
std::vector<std::string> DocumentedNames() {
  const auto text = ReadFile(source_tree::Root() / "docs" / "engine.md");
  EXPECT_TRUE(text) << "docs/engine.md cannot be read";
  std::istringstream lines(text.value_or(""));
  std::vector<std::string> names;
  bool is_table = false;
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.find_first_not_of(' '));
    is_table = line.starts_with(is_table ? "|" : "| pass |");
    if (is_table) AddNames(line, &names);
  }
  return names;
}

TEST(Names, AreTheOnesInTheDocumentationInOrder) {
  std::vector<std::string> names;
  for (const LoadPass& pass : LoadPasses()) names.emplace_back(pass.name);
  for (const ShapePass& pass : ShapePasses()) names.emplace_back(pass.name);
  EXPECT_THAT(DocumentedNames(), testing::ElementsAreArray(names));
}

}  // namespace
}  // namespace longshore::graph::passes
