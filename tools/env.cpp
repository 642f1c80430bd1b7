// `toric env`: every setting, its value in force and where that comes from.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "commands.hpp"
#include "toric/comm/config.hpp"

namespace {

std::string shown(const std::string& value) { return value.empty() ? "(none)" : value; }

void print(const toric::SettingRow& row) {
  std::printf("%-20s %s", row.name.c_str(), shown(row.value).c_str());
  if (row.source == "default") {
    std::printf("  (default)\n");
  } else {
    std::printf("  (%s; default %s)\n", row.source.c_str(), shown(row.standard).c_str());
  }
  std::printf("%-20s %s\n", "", row.meaning.c_str());
  if (!row.problem.empty()) std::printf("%-20s NOT IN FORCE: %s\n", "", row.problem.c_str());
}

void run() {
  bool usable = true;
  for (const toric::SettingRow& row : toric::describe_settings()) {
    print(row);
    usable = usable && row.problem.empty();
  }
  if (!usable) throw CLI::RuntimeError(1);
}

}  // namespace

void add_env(CLI::App& app) {
  CLI::App* command = app.add_subcommand("env", "List all settings: name, value in force, where it comes from, meaning");
  command->callback([] { run(); });
}
