// How often lessons work: the rate of the outcomes, smoothed by four at an even chance (Lesson.rate), with its interval.

const PRIOR = 4; // outcomes
const REACH = 1.645; // standard errors on either side of the rate, for an interval of 90 %

// Wins and losses are weighed by their evidence; all that is returned is in 0..1.
function posterior(wins, losses) {
  const weight = wins + losses + PRIOR;
  const mean = (wins + PRIOR / 2) / weight;
  const reach = REACH * Math.sqrt((mean * (1 - mean)) / (weight + 1));
  return { mean, low: Math.max(mean - reach, 0), high: Math.min(mean + reach, 1) };
}
