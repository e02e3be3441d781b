// For tests of commands: a local store in a folder of its own.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "common/base/path.h"
#include "controller/api/types.h"
#include "controller/store/local/local_store.h"

namespace longshore::cli {

class StoreTest : public testing::Test {
 protected:
  StoreTest() {
    std::string pattern = testing::TempDir() + "cli.XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
    store_ = store::local::LocalStore::Open({.dir = dir_}).value();
  }
  ~StoreTest() override {
    store_.reset();
    std::filesystem::remove_all(dir_);
  }

  // Stores version 2 of a Model with the name "digits".
  void StoreDigits() {
    store::Object model;
    model.kind = api::kModelKind;
    model.metadata.name = "digits";
    model.spec = {{"fleet", "cpu"}, {"source", {{"uri", "file:///models/digits"}}}, {"version", 2}};
    EXPECT_TRUE(store_->Apply(model));
  }

  Path dir_;
  std::unique_ptr<store::local::LocalStore> store_;
};

}  // namespace longshore::cli
