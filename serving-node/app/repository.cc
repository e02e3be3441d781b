#include "serving-node/app/repository.h"

#include <utility>

namespace longshore::app {
namespace {

using frontend::oip::Repository;

class OfStandalone final : public Repository {
 public:
  explicit OfStandalone(Standalone& standalone) : standalone_(standalone) {}

  std::vector<std::string> Names() const override { return standalone_.ConfiguredModels(); }
  void Load(const std::string& model, std::chrono::steady_clock::time_point deadline, Done done) override {
    standalone_.LoadModel(model, deadline, std::move(done));
  }
  void Unload(const std::string& model, Done done) override { standalone_.UnloadModel(model, std::move(done)); }

 private:
  Standalone& standalone_;
};

class OfFleet final : public Repository {
 public:
  explicit OfFleet(const routing::Router& router) : router_(router) {}

  std::vector<std::string> Names() const override { return router_.Models(); }
  void Load(const std::string&, std::chrono::steady_clock::time_point, Done done) override { Refuse(done); }
  void Unload(const std::string&, Done done) override { Refuse(done); }

 private:
  static void Refuse(const Done& done) {
    done(FailedPrecondition("the models of this node are managed by a controller: change the Model objects instead"));
  }

  const routing::Router& router_;
};

}  // namespace

std::unique_ptr<Repository> MakeRepository(Standalone& standalone) {
  return std::make_unique<OfStandalone>(standalone);
}

std::unique_ptr<Repository> MakeManagedRepository(const routing::Router& router) {
  return std::make_unique<OfFleet>(router);
}

}  // namespace longshore::app
