// Lines laid out by hand from the column widths of nccl-tests.
#include "table.hpp"

#include <gtest/gtest.h>

namespace toric::perf {
namespace {

TEST(Number, TwoOneOrNoDecimalsWhicheverFitsFirst) {
  EXPECT_EQ(number(1.234, 6), "1.23");
  EXPECT_EQ(number(999.99, 6), "999.99");
  EXPECT_EQ(number(1234.56, 6), "1234.6");
  EXPECT_EQ(number(123456.7, 6), "123457");
  EXPECT_EQ(number(1234567.0, 6), "1e+06");
  EXPECT_EQ(number(0, 6), "0.00");
}

Row example() {
  Row row;
  row.size = 1048576;
  row.count = 262144;
  row.halves[0] = {123.456, 8.494, 14.864, 0, std::nullopt};
  row.halves[1] = {99.5, 10.54, 18.44, std::nullopt, std::nullopt};
  return row;
}

TEST(Table, RowStandsInTheColumnsOfNcclTests) {
  Options options;
  EXPECT_EQ(row_line(options, example(), false),
            "     1048576        262144     float     sum      -1   123.46    8.49   14.86       0    99.50   10.54   18.44     N/A\n");
}

TEST(Table, HeaderStandsOverTheRows) {
  Options options;
  const std::string text = header(options);
  const std::string names =
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong\n";
  EXPECT_NE(text.find(names), std::string::npos) << text;
  EXPECT_NE(text.find("#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)"),
            std::string::npos)
      << text;
  EXPECT_EQ(names.size(), row_line(options, example(), false).size());
}

TEST(Table, PerIterationAddsFiveColumnsAHalf) {
  Options options;
  options.per_iteration = true;
  Row row = example();
  row.halves[0].iterations = row.halves[1].iterations = IterationStatistics{1, 2, 1.5, 1.99, 10};
  const std::string line = row_line(options, row, false);
  EXPECT_NE(line.find("       0     1.00     2.00     1.50     1.99    10.00  "), std::string::npos) << line;
  EXPECT_NE(header(options).find("  #wrong    i_min    i_max    i_p50    i_p99    i_cv%"), std::string::npos) << header(options);
}

TEST(Table, FooterCountsAndAverages) {
  Options options;
  options.program = "all_reduce_perf";
  Totals totals;
  totals.add(example());
  EXPECT_EQ(footer(options, totals),
            "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 16.652 \n#\n# Collective test concluded: all_reduce_perf\n");
  Row wrong = example();
  wrong.halves[1].wrong = 3;
  totals.add(wrong);
  EXPECT_NE(footer(options, totals).find("values : 3 FAILED"), std::string::npos);
}

TEST(Table, AlgorithmsSideBySideNameTheWinner) {
  Options options;
  options.algorithm = "all";
  Row row = example();
  row.algorithm = "ring";
  EXPECT_NE(row_line(options, row, true).find("N/A  ring *\n"), std::string::npos);
  EXPECT_NE(row_line(options, row, false).find("N/A  ring\n"), std::string::npos);
}

}  // namespace
}  // namespace toric::perf
