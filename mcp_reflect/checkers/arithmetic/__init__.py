"""Every equality and chain of equalities in prose, with exact fractions and no evaluation of code."""
