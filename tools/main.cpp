// `toric`: look at what Toric sees, would do, and can prove.
#include "commands.hpp"

int main(int argc, char** argv) {
  CLI::App app("Toric: a topology-aware collective communication library");
  app.name("toric");
  app.require_subcommand(1);
  add_topo(app);
  add_env(app);
  add_algorithms(app);
  add_verify(app);
  add_simulate(app);
  add_explain(app);
  add_draw(app);
  CLI11_PARSE(app, argc, argv);
  return 0;
}
