// A model of tests/models for a fuzzer: loaded once, run again and again.
#pragma once

#include <memory>
#include <string>

#include "serving-node/engine/engine.h"
#include "serving-node/engine/host/host.h"
#include "tests/source_tree/source_tree.h"

namespace longshore::fuzz {

class Model {
 public:
  explicit Model(const std::string& name) : engine_(engine::host::MakeEngine({.threads = 1})) {
    auto loaded = engine_->Load(source_tree::Root() / "tests" / "models" / name / "1", {});
    CHECK(loaded);
    model_ = std::move(*loaded);
  }

  engine::LoadedModel& operator*() { return *model_; }
  engine::LoadedModel* operator->() { return model_.get(); }

 private:
  std::unique_ptr<engine::Engine> engine_;
  std::shared_ptr<engine::LoadedModel> model_;
};

}  // namespace longshore::fuzz
