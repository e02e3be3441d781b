#include "controller/decide/analysis/bins.h"

#include <gmock/gmock.h>

#include <functional>
#include <random>

namespace longshore::analysis {
namespace {

constexpr char kSalt[] = "uid/2/1";
constexpr int kCandidateBins = 20;  // The candidate has a weight of 10 %.

struct OneBin {
  int64_t requests = 0;
  int64_t bad = 0;
};
using OfBin = std::function<OneBin(int)>;

api::BinEvidence Evidence(const OfBin& of_bin, const std::string& salt = kSalt) {
  api::BinEvidence evidence{.salt = salt};
  for (int bin = 0; bin < kBins; ++bin) {
    const OneBin one = of_bin(bin);
    evidence.requests.push_back(one.requests);
    evidence.bad.push_back(one.bad);
  }
  return evidence;
}

Bins AtWeight(double percent, const std::string& salt = kSalt) {
  Bins bins;
  bins.Follow({salt, static_cast<int>(100 * percent)});
  return bins;
}

// One node's counts, in which each arm has counts in all bins; those that it does not own must not matter.
void AddToBoth(const OfBin& of_bin, Bins& bins, const api::BinEvidence& before = {}, const std::string& node = "a") {
  const api::BinEvidence all = Evidence(of_bin);
  bins.Add(node, {.candidate = all, .stable = all}, before);
}

// Users with very different numbers of requests, some of whom fail often. Both versions are equal.
struct Users {
  explicit Users(uint64_t seed) : random(seed) {
    std::lognormal_distribution<double> activity(0, 1);
    std::uniform_real_distribution<double> uniform;
    for (int i = 0; i < 1000; ++i) {
      const double rate = uniform(random) < 0.05 ? 0.5 : 0.01;
      all.push_back({static_cast<int>(random() % kBins), 10 * activity(random), rate});
    }
  }

  api::BinEvidence Send(double requests_factor) {
    std::vector<OneBin> bins(kBins);
    for (const User& user : all) {
      const int requests = std::poisson_distribution<int>(requests_factor * user.requests)(random);
      OneBin& bin = bins[static_cast<size_t>(user.bin)];
      bin.requests += requests;
      bin.bad += std::binomial_distribution<int>(requests, user.rate)(random);
    }
    return Evidence([&](int bin) { return bins[static_cast<size_t>(bin)]; });
  }

  struct User {
    int bin = 0;
    double requests = 0;
    double rate = 0;
  };
  std::mt19937_64 random;
  std::vector<User> all;
};

TEST(BinEvidence, OfAnotherSaltReplacesTheCounts) {
  api::BinEvidence total;
  Add({"one", {1, 2}, {1}}, total);
  Add({"one", {0, 0, 3}, {}}, total);
  EXPECT_EQ(total, (api::BinEvidence{"one", {1, 2, 3}, {1}}));
  Add({"two", {7}, {}}, total);
  EXPECT_EQ(total, (api::BinEvidence{"two", {7}, {}}));
  Add({}, total);
  EXPECT_EQ(total.salt, "two");
}

TEST(Bins, CountARequestOnlyForTheVersionThatOwnsItsWholeBin) {
  Bins bins = AtWeight(1.25);  // Two bins and a half.
  AddToBoth([](int bin) { return OneBin{bin < 3 ? 100 : 10, 1}; }, bins);
  ASSERT_TRUE(bins.look());
  EXPECT_EQ(bins.look()->candidate.bins, 2);
  EXPECT_EQ(bins.look()->candidate.requests, 200);
  EXPECT_EQ(bins.look()->stable.bins, kBins - 3);
  EXPECT_EQ(bins.look()->stable.requests, 10 * (kBins - 3));
}

TEST(Bins, CountOnlyTheirOwnSalt) {
  Bins bins = AtWeight(10, "uid/3/1");
  AddToBoth([](int) { return OneBin{1000, 0}; }, bins);
  EXPECT_FALSE(bins.look());
  EXPECT_TRUE(bins.ToJson().is_null());
}

TEST(Bins, OfACandidateThatIsNoWorseAreRarelyConspicuousAlthoughUsersDiffer) {
  constexpr int kTrials = 2000;
  int below_half = 0;
  int below_tenth = 0;
  int below_fiftieth = 0;
  for (uint64_t seed = 0; seed < kTrials; ++seed) {
    Users users(seed);
    const api::BinEvidence before = seed % 2 == 0 ? users.Send(1) : api::BinEvidence{};
    const api::BinEvidence now = users.Send(1);
    Bins bins = AtWeight(10);
    bins.Add("a", {.candidate = now, .stable = now}, before);
    const double p = bins.look()->p;
    below_half += p <= 0.5 ? 1 : 0;
    below_tenth += p <= 0.1 ? 1 : 0;
    below_fiftieth += p <= 0.02 ? 1 : 0;
  }
  EXPECT_NEAR(below_half, kTrials * 0.5, 150);
  EXPECT_NEAR(below_tenth, kTrials * 0.1, 50);
  EXPECT_NEAR(below_fiftieth, kTrials * 0.02, 25);
}

TEST(Bins, FailACandidateWhoseUsersAreRefusedMoreOften) {
  Bins bins = AtWeight(10);
  AddToBoth([](int bin) { return OneBin{100, bin < kCandidateBins ? 6 : 1 + bin % 2}; }, bins);
  ASSERT_TRUE(bins.look());
  EXPECT_TRUE(bins.look()->failed());
  EXPECT_EQ(
      ToText(*bins.look()),
      "of the requests of the candidate's users, 120 of 2000 (6.00%) failed, were refused or were late; of those of "
      "stable's users, 270 of 18000 (1.50%); from what these users had before the rollout, 0.0 more than the average "
      "were to be expected of the candidate's; permutation test over 200 bins of users, of which the candidate has 20: "
      "p-value 0.00015, limit 0.00061");
}

TEST(Bins, DoNotFailACandidateThatIsBetter) {
  Bins bins = AtWeight(10);
  AddToBoth([](int bin) { return OneBin{100, bin < kCandidateBins ? 0 : 5}; }, bins);
  EXPECT_FALSE(bins.look()->failed());
}

// By bad luck, all users who always fail are the candidate's.
OneBin WithFailingUsers(int bin) { return {100, bin < 6 ? 40 : bin % 2}; }

TEST(Bins, DoNotFailACandidateForUsersWhoFailedBeforeToo) {
  Bins knows_nothing = AtWeight(10);
  AddToBoth(WithFailingUsers, knows_nothing);
  EXPECT_TRUE(knows_nothing.look()->failed());

  Bins knows = AtWeight(10);
  AddToBoth(WithFailingUsers, knows, Evidence([](int bin) { return OneBin{50, WithFailingUsers(bin).bad / 2}; }));
  EXPECT_FALSE(knows.look()->failed());
  EXPECT_NEAR(knows.look()->explained, 220, 20) << "of 250 bad requests";

  Bins other_salt = AtWeight(10);
  AddToBoth(WithFailingUsers, other_salt, Evidence(WithFailingUsers, "uid/1/1"));
  EXPECT_TRUE(other_salt.look()->failed()) << "the users were in other bins then";
}

TEST(Bins, FindACandidateThatFailsMoreOftenDespiteUsersWhoAlwaysFail) {
  const auto now = [](int bin) { return OneBin{100, (bin % 20 == 0 ? 50 : 1) + (bin < kCandidateBins ? 3 : 0)}; };
  Bins knows_nothing = AtWeight(10);
  AddToBoth(now, knows_nothing);
  EXPECT_FALSE(knows_nothing.look()->failed());
  Bins knows = AtWeight(10);
  AddToBoth(now, knows, Evidence([](int bin) { return OneBin{100, bin % 20 == 0 ? 50 : 1}; }));
  EXPECT_TRUE(knows.look()->failed());
}

// The candidate runs on a node on which requests of both versions fail ten times as often as elsewhere.
TEST(Bins, CompareTheVersionsOnTheSameNode) {
  const auto of = [](int64_t requests, int64_t every) {
    return Evidence([=](int bin) { return OneBin{requests, bin % every == 0 ? requests / 10 : 0}; });
  };
  const api::BinEvidence none{.salt = kSalt};
  Bins bins = AtWeight(10);
  bins.Add("good", {.candidate = none, .stable = of(100, 10)}, {});
  bins.Add("bad", {.candidate = of(100, 1), .stable = of(10, 1)}, {});
  EXPECT_FALSE(bins.look()->failed());

  Bins mixed = AtWeight(10);
  mixed.Add("all", {.candidate = none, .stable = of(100, 10)}, {});
  mixed.Add("all", {.candidate = of(100, 1), .stable = of(10, 1)}, {});
  EXPECT_TRUE(mixed.look()->failed()) << "the result if all nodes were summed";
}

TEST(Bins, MakeNoClaimIfAFewUsersSendMostOfTheRequests) {
  Bins bins = AtWeight(10);
  AddToBoth([](int bin) { return OneBin{bin % 20 == 0 ? 10000 : 10, bin < kCandidateBins ? 10 : 0}; }, bins);
  ASSERT_TRUE(bins.look());
  EXPECT_LT(bins.look()->effective, 30);
  EXPECT_FALSE(bins.look()->failed());
  EXPECT_THAT(NumbersOf(*bins.look()), testing::Contains(testing::Pair("binsLook", 0)));
  EXPECT_FALSE(NumbersOf(*bins.look()).contains("binsP"));
}

TEST(Bins, MakeNoClaimAboutASingleBinOfTheCandidate) {
  Bins bins = AtWeight(0.5);
  AddToBoth([](int bin) { return OneBin{200, bin == 0 ? 100 : 0}; }, bins);
  ASSERT_TRUE(bins.look());
  EXPECT_EQ(bins.look()->number, 0);
}

TEST(Bins, AreLookedAtWheneverTheCandidatesRequestsHaveDoubled) {
  Bins bins = AtWeight(10);
  const auto add = [&](int64_t requests_of_bin) {
    AddToBoth([=](int bin) { return OneBin{requests_of_bin, bin % 3 == 0 ? 1 : 0}; }, bins);
    return bins.look() ? bins.look()->number : 0;
  };
  EXPECT_EQ(add(9), 0) << "180 requests of the candidate";
  EXPECT_EQ(add(1), 1) << "200";
  EXPECT_EQ(add(9), 1) << "380";
  EXPECT_EQ(add(1), 2) << "400";
  EXPECT_EQ(add(20), 3) << "800";
  EXPECT_NEAR(bins.look()->limit, kAlphaBins * 6 / 9.8696 / 9, 1e-8);

  bins.Follow({kSalt, 1000});
  EXPECT_EQ(add(20), 3) << "the same weight goes on: 1200";
  bins.Follow({kSalt, 2500});
  EXPECT_EQ(add(3), 3) << "150 requests at the new weight";
  EXPECT_EQ(add(1), 4) << "200";
  EXPECT_EQ(bins.look()->candidate.requests, 200);
}

TEST(Bins, KeepTheLookThatFailed) {
  Bins bins = AtWeight(10);
  AddToBoth([](int bin) { return OneBin{100, bin < kCandidateBins ? 50 : 0}; }, bins);
  AddToBoth([](int bin) { return OneBin{10000, bin < kCandidateBins ? 0 : 50}; }, bins);
  EXPECT_TRUE(bins.look()->failed());
  bins.Follow({kSalt, 2500});
  EXPECT_TRUE(bins.look()->failed());
  bins.Follow({"uid/3/1", 2500});
  EXPECT_FALSE(bins.look()) << "another rollout";
}

TEST(Bins, AreReadAsTheyWereStored) {
  EXPECT_TRUE(Bins().ToJson().is_null());
  Bins bins = AtWeight(10);
  AddToBoth([](int bin) { return OneBin{bin < 150 ? 20 : 0, bin % 2}; }, bins);
  const Json stored = bins.ToJson();
  EXPECT_EQ(stored["requests"].size(), 150u);
  Bins again = Bins::FromJson(stored);
  EXPECT_EQ(again.ToJson(), stored);
  for (Bins* one : {&bins, &again}) AddToBoth([](int) { return OneBin{20, 1}; }, *one);
  EXPECT_EQ(again.ToJson(), bins.ToJson()) << "and counts on from there";
}

}  // namespace
}  // namespace longshore::analysis
