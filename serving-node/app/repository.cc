#include "serving-node/app/repository.h"

#include <utility>

#include "serving-node/frontend/refusals.h"

namespace longshore::app {
namespace {

using frontend::oip::Repository;
using NamesFunction = std::function<std::vector<std::string>()>;

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

// Refuses every change with the same error.
class Fixed final : public Repository {
 public:
  Fixed(NamesFunction names, Error refusal) : names_(std::move(names)), refusal_(std::move(refusal)) {}

  std::vector<std::string> Names() const override { return names_(); }
  void Load(const std::string&, std::chrono::steady_clock::time_point, Done done) override {
    done(tl::make_unexpected(refusal_));
  }
  void Unload(const std::string&, Done done) override { done(tl::make_unexpected(refusal_)); }

 private:
  const NamesFunction names_;
  const Error refusal_;
};

}  // namespace

std::unique_ptr<Repository> MakeRepository(Standalone& standalone, bool accepts_changes) {
  if (accepts_changes) return std::make_unique<OfStandalone>(standalone);
  return std::make_unique<Fixed>([&standalone] { return standalone.ConfiguredModels(); },
                                 frontend::ReloadsDisabled().value());
}

std::unique_ptr<Repository> MakeManagedRepository(const routing::Router& router) {
  return std::make_unique<Fixed>([&router] { return router.Models(); }, frontend::ManagedByController().value());
}

}  // namespace longshore::app
