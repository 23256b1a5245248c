"""Finding lessons by what they mean: vectors kept in the bank, written behind everybody's back, searched in memory."""
