#include "controller/cli/input/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "common/base/path.h"
#include "common/os/file.h"

namespace longshore::cli::input {
namespace {

class Files : public testing::Test {
 protected:
  Files() {
    std::string pattern = testing::TempDir() + "files.XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
  }
  ~Files() override { std::filesystem::remove_all(dir_); }

  void Write(const std::string& name) {
    std::filesystem::create_directories((dir_ / name).parent_path());
    ASSERT_TRUE(WriteFileAtomically(dir_ / name, "text of " + name));
  }
  // Returns the names of the files that were read, relative to the test's folder.
  std::string Read(const std::vector<std::string>& names, Folders folders = Folders::kFilesOnly) {
    std::istringstream input("text of input");
    const auto files = ReadFiles(names, folders, input);
    if (!files) return "error: " + files.error().message;
    std::string text;
    for (const File& file : *files) text += (text.empty() ? "" : " ") + file.text.substr(8);
    return text;
  }

  Path dir_;
};

TEST_F(Files, AFolderMeansItsManifestsInOrder) {
  for (const char* name : {"b.yaml", "a.json", "c.yml", "notes.txt", ".hidden.yaml", "sub/d.yaml", ".longshore/e.json"})
    Write(name);
  EXPECT_EQ(Read({dir_}), "a.json b.yaml c.yml");
  EXPECT_EQ(Read({dir_}, Folders::kWithSubfolders), "a.json b.yaml c.yml sub/d.yaml");
  EXPECT_EQ(Read({dir_ / "notes.txt", dir_ / "sub"}), "notes.txt sub/d.yaml") << "a named file may have any ending";
}

TEST_F(Files, AFolderWithoutManifestsIsAnError) {
  Write("notes.txt");
  Write("sub/d.yaml");
  EXPECT_EQ(Read({dir_}), "error: folder " + dir_.string() +
                              " has no file that ends with .yaml, .yml or .json; -R reads its subfolders too");
}

TEST_F(Files, StandardInputAndPipesAreReadOnce) {
  EXPECT_EQ(Read({"-"}), "input");
  EXPECT_EQ(Read({"-", "-"}), "error: - (standard input) can be read only once");
  const Path pipe = dir_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << "text of pipe"; });
  EXPECT_EQ(Read({pipe}), "pipe");
  writer.join();
}

TEST_F(Files, AMissingFileIsAnErrorThatNamesIt) {
  EXPECT_EQ(Read({dir_ / "none.yaml"}),
            "error: cannot open " + (dir_ / "none.yaml").string() + ": No such file or directory");
}

}  // namespace
}  // namespace longshore::cli::input
