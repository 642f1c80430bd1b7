#include "toric/comm/plan_cache.hpp"

#include <algorithm>
#include <string>

namespace toric {

PlanCache::PlanCache(Settings settings, Transport& transport) : settings_(std::move(settings)), transport_(transport) {}

const PlanCache::Entry* PlanCache::find_slowly(Collective collective, std::uint64_t bytes, Status& error) {
  Entries& entries = unrooted_[static_cast<std::size_t>(collective)];
  if (entries.empty()) error = fill(entries, collective, -1);
  if (!error.ok()) return nullptr;
  Entry& entry = entry_for(entries, bytes);
  if (!entry.plan) error = build(entry, collective, -1);
  return entry.plan ? &entry : nullptr;
}

const PlanCache::Entry* PlanCache::find_rooted(Collective collective, Rank root, std::uint64_t bytes, Status& error) {
  auto found = std::find_if(rooted_.begin(), rooted_.end(), [&](const Rooted& r) { return r.collective == collective && r.root == root; });
  if (found == rooted_.end()) {
    Rooted fresh{collective, root, {}};
    error = fill(fresh.entries, collective, root);
    if (!error.ok()) return nullptr;
    rooted_.push_back(std::move(fresh));
    found = rooted_.end() - 1;
  }
  Entry* entry = &entry_for(found->entries, bytes);
  if (!entry->plan) {
    if (rooted_plans() >= most_rooted_plans) {
      drop_oldest_rooted();  // may move the lists: look again
      found = std::find_if(rooted_.begin(), rooted_.end(), [&](const Rooted& r) { return r.collective == collective && r.root == root; });
      if (found == rooted_.end()) return find_rooted(collective, root, bytes, error);
      entry = &entry_for(found->entries, bytes);
    }
    error = build(*entry, collective, root);
  }
  entry->used = ++tick_;
  return entry->plan ? entry : nullptr;
}

Status PlanCache::fill(Entries& entries, Collective collective, Rank root) const {
  Result<std::vector<Choice>> choices = choose(collective, settings_.ranks, root, settings_.wish, settings_.topology);
  if (!choices.ok()) return choices.status();
  for (const Choice& choice : *choices) {
    Entry entry;
    entry.choice = choice;
    entries.push_back(std::move(entry));
  }
  return {};
}

PlanCache::Entry& PlanCache::entry_for(Entries& entries, std::uint64_t bytes) {
  for (Entry& entry : entries)
    if (bytes < entry.choice.end) return entry;
  return entries.back();
}

Status PlanCache::build(Entry& entry, Collective collective, Rank root) {
  Request request;
  request.collective = collective;
  request.ranks = settings_.ranks;
  request.root = root;
  request.bytes = entry.choice.begin;  // not the call's: a plan must not depend on which call came first
  request.topology = settings_.topology;
  request.pieces = entry.choice.pieces;
  Result<Schedule> schedule = build_schedule(*entry.choice.algorithm, request, settings_.rank);
  if (!schedule.ok()) return schedule.status();
  PlanOptions options;
  options.segment_bytes = settings_.segment_bytes;
  options.window_bytes = window_bytes_for(*schedule, settings_.segment_bytes, settings_.slots, settings_.window_setting);
  Result<Plan> plan = bind_plan(*std::move(schedule), settings_.rank, std::string(entry.choice.algorithm->name), transport_, options);
  if (!plan.ok()) return plan.status();
  entry.plan = std::make_unique<const Plan>(*std::move(plan));
  return {};
}

std::size_t PlanCache::rooted_plans() const {
  std::size_t plans = 0;
  for (const Rooted& rooted : rooted_)
    plans += static_cast<std::size_t>(
        std::count_if(rooted.entries.begin(), rooted.entries.end(), [](const Entry& e) { return e.plan != nullptr; }));
  return plans;
}

void PlanCache::drop_oldest_rooted() {
  Entry* oldest = nullptr;
  for (Rooted& rooted : rooted_)
    for (Entry& entry : rooted.entries)
      if (entry.plan && (oldest == nullptr || entry.used < oldest->used)) oldest = &entry;
  if (oldest != nullptr) oldest->plan.reset();
  std::erase_if(rooted_, [](const Rooted& rooted) {
    return std::none_of(rooted.entries.begin(), rooted.entries.end(), [](const Entry& e) { return e.plan != nullptr; });
  });
}

}  // namespace toric
