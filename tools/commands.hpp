// The subcommands of `toric`. Each lives in a file of its own and adds itself here; a callback that fails prints why to
// stderr and throws CLI::RuntimeError with the exit code.
#pragma once

#include <CLI/CLI.hpp>

void add_topo(CLI::App& app);
void add_env(CLI::App& app);
void add_algorithms(CLI::App& app);
void add_verify(CLI::App& app);
void add_simulate(CLI::App& app);
void add_explain(CLI::App& app);
void add_draw(CLI::App& app);
