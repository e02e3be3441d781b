#include "controller/cli/input/targets.h"

#include <gtest/gtest.h>

#include "controller/api/types.h"

namespace longshore::cli::input {
namespace {

using api::kModelKind;
using api::kServingFleetKind;
using Targets = std::vector<Target>;

TEST(Targets, AKindAloneMeansAllItsObjects) {
  EXPECT_EQ(ParseTargets({"models"}).value(), (Targets{{kModelKind, ""}}));
  EXPECT_EQ(ParseTargets({"models,fleets"}).value(), (Targets{{kModelKind, ""}, {kServingFleetKind, ""}}));
  for (const char* all : {"all", "longshore"})
    EXPECT_EQ(ParseTargets({all}).value(), (Targets{{kModelKind, ""}, {kServingFleetKind, ""}}));
  EXPECT_EQ(ParseTargets({}).value(), Targets{});
}

TEST(Targets, EachNameOfAKindIsAccepted) {
  for (const char* name : {"model", "Models", "MODEL", "lsm", "models.longshore.dev", "models.v1alpha1.longshore.dev"})
    EXPECT_EQ(ParseTargets({name, "a"}).value(), (Targets{{kModelKind, "a"}})) << name;
  for (const char* name : {"fleet", "fleets", "lsf", "servingfleet", "ServingFleets", "servingfleet.longshore.dev"})
    EXPECT_EQ(ParseTargets({name, "a"}).value(), (Targets{{kServingFleetKind, "a"}})) << name;
}

TEST(Targets, NamesFollowTheirKindOrContainIt) {
  EXPECT_EQ(ParseTargets({"model", "a", "b"}).value(), (Targets{{kModelKind, "a"}, {kModelKind, "b"}}));
  EXPECT_EQ(ParseTargets({"model/a", "fleet/b"}).value(), (Targets{{kModelKind, "a"}, {kServingFleetKind, "b"}}));
}

TEST(Targets, TheTwoFormsCannotBeMixed) {
  EXPECT_EQ(ParseTargets({"model/a", "b"}).error().message,
            "\"b\" has no kind: write KIND/NAME for each object, or KIND NAME NAME");
  EXPECT_EQ(ParseTargets({"model", "model/b"}).error().message,
            "\"model/b\" has a kind already: write model/NAME for each object, or KIND NAME NAME");
  for (const char* word : {"model/", "model/a/b"})
    EXPECT_EQ(ParseTargets({word}).error().message, fmt::format("\"{}\" is not of the form KIND/NAME", word));
}

TEST(Targets, AnUnknownKindIsAnErrorThatListsTheKinds) {
  EXPECT_EQ(
      ParseTargets({"digits"}).error().message,
      "\"digits\" is not a kind; the kinds are models and fleets. If it is the name of a model, write model/digits");
  EXPECT_EQ(ParseTargets({"nodes"}).error().message,
            "\"nodes\" is not a kind of longshore: longshore describe fleet NAME lists the nodes of a fleet");
  EXPECT_EQ(ParseTargets({"modles"}).error().message,
            "\"modles\" is not a kind; did you mean models? The kinds are models and fleets");
  EXPECT_FALSE(ParseTargets({"flets/a"}));
  EXPECT_FALSE(ParseTargets({"models,"}));
}

TEST(Targets, AResourceHasTheGroup) { EXPECT_EQ(ResourceOf(kServingFleetKind), "servingfleet.longshore.dev"); }

}  // namespace
}  // namespace longshore::cli::input
